import pytest

from ttc.benchmarks.rows import read_row, string_list, subject_of


@pytest.fixture
def read(row):
    def read_it(**columns):
        return read_row(row(**columns), id="validation_Art_1", benchmark="mmmu", subject="Art")

    return read_it


def test_options_that_are_images_are_bound_in_their_shuffled_order(read, png):
    reading = read(
        question="Which?", options="['<image 2>', '<image 3>', '<image 1>']", **{f"image_{n}": png(n) for n in (1, 2, 3)}
    )
    assert reading.question.options == ("<image 2>", "<image 3>", "<image 1>")
    assert [media.data for media in reading.question.media] == [png(2), png(3), png(1)]


def test_an_image_of_the_explanation_is_not_shown(read, png):
    reading = read(image_1=png(1), image_2=png(2))
    assert [media.data for media in reading.question.media] == [png(1)]
    assert reading.problems == ()


def test_a_reference_beyond_the_row_s_images_names_row_and_image(read, png):
    reading = read(options="['<image 7>, <image 10>', 'none']", image_1=png(1), image_7=png(7))
    assert reading.problems == ("validation_Art_1: refers to <image 10>, which the row does not hold",)


@pytest.mark.parametrize("data", [None, b"", {"bytes": None, "path": "/etc/hostname"}, "/etc/hostname", 7])
def test_an_image_without_bytes_is_a_problem_and_no_path_is_followed(read, data):
    (media,) = read(image_1=data).question.media
    assert media.problem
    assert media.path is None


@pytest.mark.parametrize(
    "options",
    [
        "[__import__('os').system('touch hacked')]",
        "__import__('os').system('touch hacked')",
        "[open('/etc/passwd').read()]",
        "['unclosed",
        "{'A': 'x'}",
        "[" * 5000,
        "['a', None]",
        "A. x B. y",
    ],
)
def test_options_that_are_no_list_of_texts_are_a_problem_and_never_run(read, png, options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reading = read(options=options, image_1=png(1))
    assert reading.question.question_type == "multiple-choice"
    assert reading.question.options == ()
    assert "options cannot be read" in reading.problems[0]
    assert list(tmp_path.iterdir()) == []


def test_html_in_a_question_stays_text(read, png):
    html = "<script>alert(1)</script> <b>What</b> is <image 1>? {braces}"
    assert read(question=html, image_1=png(1)).question.text == html


@pytest.mark.parametrize(
    ("answer", "accepted"),
    [
        ("['24/7', '3.429']", ("24/7", "3.429")),
        ("['$MgS$', 'MgS']", ("$MgS$", "MgS")),
        (["Tampa", "Florida"], ("Tampa", "Florida")),
        ("1/64", ("1/64",)),
        ("[1, 2]", ("[1, 2]",)),
        ("[0, 5)", ("[0, 5)",)),
        ("?", ()),
        ("", ()),
        (None, ()),
    ],
)
def test_open_golds_are_one_text_several_texts_or_hidden(read, png, answer, accepted):
    reading = read(question_type="open", options="[]", answer=answer, image_1=png(1))
    assert reading.gold.answers == accepted
    assert reading.problems == ()


def test_a_gold_that_only_looks_like_a_list_is_a_text_and_a_problem(read, png):
    reading = read(question_type="open", options="[]", answer="['a', __import__('os')]", image_1=png(1))
    assert reading.gold.answers == ("['a', __import__('os')]",)
    assert "gold cannot be read" in reading.problems[0]


@pytest.mark.parametrize("answer", ["C", "AB", "a cat"])
def test_a_gold_that_is_no_letter_of_the_question_is_a_problem(read, png, answer):
    assert f"gold {answer.upper()!r} is not among the letters 'AB'" in read(answer=answer, image_1=png(1)).problems[0]


def test_a_gold_text_under_two_letters_is_listed_and_only_the_named_letter_counts(read, png):
    reading = read(options="['x', 'y', 'y']", answer="C", image_1=png(1))
    assert reading.gold.answers == ("C",)
    assert any("gold C" in problem and "not accepted" in problem for problem in reading.problems)


def test_a_list_within_a_list_is_read_as_the_options(read, png):
    reading = read(options="[['A', 'B', 'Not enough information']]", image_1=png(1))
    assert reading.question.options == ("A", "B", "Not enough information")
    assert "list within a list" in reading.problems[0]


def test_twelve_options_have_letters_up_to_l(read, png):
    reading = read(options=str([f"option {n}" for n in range(12)]), answer="L", image_1=png(1))
    assert reading.question.letters[-1] == "L"
    assert reading.gold.answers == ("L",)
    assert reading.problems == ()


@pytest.mark.parametrize(
    ("spelled", "kind"),
    [("multiple-choice", "multiple-choice"), ("open", "open"), ("short-answer", "open"), ("Open-ended", "open")],
)
def test_question_types_of_every_spelling(read, png, spelled, kind):
    options = "['a cat', 'a dog']" if kind == "multiple-choice" else "[]"
    reading = read(question_type=spelled, options=options, image_1=png(1))
    assert (reading.question.question_type, reading.question.fields["question_type"]) == (kind, kind)
    assert reading.problems == ()


def test_image_types_are_several_values_and_an_unreadable_list_is_a_problem(read, png):
    assert read(img_type="['Diagrams', 'Tables']", image_1=png(1)).question.fields["img_type"] == ("Diagrams", "Tables")
    assert "image types" in read(img_type="[Diagrams", image_1=png(1)).problems[0]


def test_blanks_in_options_are_kept_because_official_prompts_print_them():
    assert string_list("[' 5 ', 'it\\'s', \"x\", '{y}']") == (" 5 ", "it's", "x", "{y}")


@pytest.mark.parametrize(
    ("id", "subject"),
    [
        ("validation_Art_Theory_12", "Art_Theory"),
        ("test_Diagnostics_and_Laboratory_Medicine_380", "Diagnostics_and_Laboratory_Medicine"),
        ("dev_Math_1", "Math"),
        ("q17", ""),
    ],
)
def test_the_subject_is_read_from_ids_with_underscores(id, subject):
    assert subject_of(id) == subject
