import base64
import hashlib
import io
import json
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image

from experiments import figures
from experiments.curves import curves
from experiments.exhibits import Exhibits, exhibits, is_fooled, level, status_table
from experiments.gaps import Change
from experiments.numbers import percent, signed
from experiments.plan import Plan
from experiments.report import SCRIPTS, gap_answer, gap_lines, reading, render, write_report
from experiments.run import Results
from ttc.grading import Graded
from ttc.media import media_from_bytes
from ttc.pool import Outcome
from ttc.records import Answer, Exam, Gold, Question, Sample, StepScores, Verdict

HOSTILE = """<script>alert("1")</script></script><!--<img src=x onerror='alert(2)'> & $\\alpha$"""


class Page(HTMLParser):
    """Scripts by id, elements by tag, and the text outside scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: dict[str, str] = {}
        self.code: list[str] = []
        self.tags: list[str] = []
        self.handlers: list[str] = []
        self.text = ""
        self._inside: str | None = None
        self.policy = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        self.handlers += [name for name in found if name.startswith("on")]
        if found.get("http-equiv") == "Content-Security-Policy":
            self.policy = found["content"]
        self._inside = found.get("id", "") if tag == "script" else tag if tag == "style" else None

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside is None:
            self.text += data
        elif self._inside == "":
            self.code.append(data)
        else:
            self.scripts[self._inside] = data


def png(color: str = "red", size: tuple[int, int] = (48, 48)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, color).save(buffer, "png")
    return buffer.getvalue()


def question(number: int, level: str, **changes) -> Question:
    fields = {"topic_difficulty": level, "subject": "optics"}
    plain = Question(f"q{number}", "exam", "multiple-choice", "Which is <image 1>?", ("one", "two"), fields=fields)
    return replace(plain, **changes)


def graded(asked: Question, replies: list[tuple[str, str | None]]) -> Graded:
    """Samples with the given text and answer; A is right."""
    samples = tuple(
        Sample("k" * 64, i, asked.id, text, finish="stop", completion_tokens=5) for i, (text, _) in enumerate(replies)
    )
    answers = tuple(Answer((value,) if value else (), "answered" if value else "truncated", "rule") for _, value in replies)
    verdicts = tuple(Verdict(float(value == "A")) for _, value in replies)
    return Graded(asked, samples, answers, verdicts, tuple(None for _ in replies))


def run(questions: list[Question], draws: list[Graded], **manifest) -> dict:
    """Arguments of `render` for one vote strategy and its oracle."""
    generator = np.random.default_rng(2)
    outcomes = {
        name: {
            one.id: [(k, Outcome(float(generator.random()), 1.0, k, 9.0, 5.0 * k, None)) for k in (1, 8)] for one in questions
        }
        for name in ("vote", "oracle")
    }
    found = curves(questions, outcomes, by=("topic_difficulty",), oracles={"vote": "oracle", "oracle": "oracle"}, draws=200)
    golds = {one.id: Gold(one.id, ("A",)) for one in questions}
    exam = Exam("exam", "test", tuple(questions), golds, "local", "f" * 64, problems=(f"row 3: {HOSTILE}",))
    facts = {"name": "a run", "engines": {"scripted 1": 3}, **manifest}
    by_id = {one.question.id: one for one in draws}
    return {"manifest": facts, "found": found, "outcomes": outcomes, "exam": exam, "graded": {"cot": by_id}}


def browser(arguments: dict) -> Exhibits:
    return exhibits(arguments["found"], arguments["outcomes"], arguments["exam"], arguments["graded"], [])


@pytest.fixture(scope="module")
def hostile() -> Page:
    image = media_from_bytes(png(), marker=1)
    questions = [
        question(0, "Easy", text=f"{HOSTILE} <image 1>", options=(HOSTILE, "two"), media=(image,), id=HOSTILE),
        question(1, "Hard", fields={"topic_difficulty": "Hard", "subject": HOSTILE}),
    ]
    draws = [graded(questions[0], [(HOSTILE, HOSTILE), ("A", "A"), ("", None)])]
    arguments = run(
        questions, draws, name=HOSTILE, config={"prompt": HOSTILE}, identity={"model": HOSTILE}, engines={HOSTILE: 1}
    )
    return Page(render(**arguments))


def test_a_sample_that_saw_the_options_shuffled_tells_their_order():
    asked = question(0, "Easy")
    drawn = replace(graded(asked, [("B", "A"), ("B", "B")]), orders=((1, 0), (0, 1)))
    samples = browser(run([asked], [drawn])).details[0]["draws"][0]["samples"]
    assert [(one["index"], one["seen"], one["answer"]) for one in samples] == [(0, "BA", "A"), (1, "AB", "B")]


def test_what_a_model_or_a_data_set_wrote_is_text_and_never_markup(hostile):
    assert len(hostile.code) == len(SCRIPTS)
    assert hostile.handlers == []
    assert "img" not in hostile.tags
    assert HOSTILE in hostile.text
    detail = json.loads(zlib.decompress(base64.b64decode(hostile.scripts["exhibit-0"])))
    assert detail["draws"][0]["samples"][0]["steps"] == [HOSTILE]
    assert detail["options"][0] == HOSTILE
    assert json.loads(hostile.scripts["exhibits"])["questions"][0]["id"] == HOSTILE


def test_the_policy_lets_only_the_pages_own_scripts_run(hostile):
    allowed = set(re.findall(r"'(sha256-[^']+)'", hostile.policy))
    own = {"sha256-" + base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in hostile.code}
    assert own == allowed
    assert "default-src 'none'" in hostile.policy


def test_the_page_names_no_address_but_those_of_xml_namespaces():
    questions = [question(0, "Easy"), question(1, "Hard")]
    text = render(**run(questions, [graded(one, [("A", "A")]) for one in questions]))
    assert {address.split("/")[2] for address in re.findall(r"https?://[^\s\"'<]+", text)} <= {"www.w3.org"}


def test_an_image_is_embedded_once_and_a_damaged_one_gives_its_reason():
    image, damaged = media_from_bytes(png(size=(2000, 1000)), marker=1), media_from_bytes(png()[:60], marker=1)
    questions = [
        question(0, "Easy", media=(image,)),
        question(1, "Hard", media=(image,)),
        question(2, "Hard", media=(damaged,)),
    ]
    arguments = run(questions, [])
    shown = browser(arguments)
    whole, broken = (shown.pictures[f"image-{one.sha256}"] for one in (image, damaged))
    assert len(shown.pictures) == 2
    assert broken["frames"] == ()
    assert broken["problem"]
    [source] = whole["frames"]
    embedded = Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2])))
    assert embedded.size[0] * embedded.size[1] <= 512 * 512
    assert embedded.convert("RGB").getpixel((5, 5)) == pytest.approx((255, 0, 0), abs=4)


def test_images_beyond_the_pages_share_are_left_out_and_counted(monkeypatch):
    monkeypatch.setattr("experiments.pictures.CHARACTERS", 50)
    media = [media_from_bytes(png(color), marker=1) for color in ("red", "green", "blue")]
    questions = [question(number, "Easy", media=(one,)) for number, one in enumerate(media)]
    arguments = run(questions, [])
    shown = browser(arguments)
    assert len(shown.pictures) == 1
    assert "2 images are left out" in shown.note


def test_of_too_many_samples_the_first_of_each_question_are_shown_and_all_are_counted(monkeypatch):
    monkeypatch.setattr("experiments.exhibits.SAMPLES", 8)
    asked = question(0, "Easy")
    arguments = run([asked], [graded(asked, [("x", "B")] * 20 + [("A", "A")] * 44)])
    shown = browser(arguments)
    [draw] = shown.details[0]["draws"]
    assert len(draw["samples"]) == 8
    assert [(row["answer"], row["count"], row["credit"]) for row in draw["tally"]] == [("A", 44, 1.0), ("B", 20, 0.0)]
    assert shown.index["questions"][0]["solved"] == 44
    assert "The first 8 of up to 64 samples" in shown.note


@pytest.mark.parametrize(
    ("sizes", "room", "cap"), [([3, 5, 9], 17, 9), ([3, 5, 9], 14, 6), ([3, 5, 9], 10, 3), ([3, 5, 9], 1, 1), ([], 5, 1)]
)
def test_what_is_long_is_cut_to_one_level_and_what_is_short_stays_whole(sizes, room, cap):
    assert level(sizes, room) == cap


def test_of_a_large_exam_evenly_spaced_questions_are_shown(monkeypatch):
    monkeypatch.setattr("experiments.exhibits.QUESTIONS", 3)
    arguments = run([question(number, "Easy") for number in range(7)], [])
    shown = browser(arguments)
    assert [row["id"] for row in shown.index["questions"]] == ["q0", "q3", "q6"]
    assert "3 of 7 questions" in shown.note


def test_the_middle_of_a_long_reply_is_cut_and_its_end_with_the_answer_kept(monkeypatch):
    monkeypatch.setattr("experiments.exhibits.TEXT_CHARACTERS", 2_000)
    asked = question(0, "Easy")
    arguments = run([asked], [graded(asked, [("a" * 5_000 + "Answer: B", "B")])])
    shown = browser(arguments)
    text = "".join(shown.details[0]["draws"][0]["samples"][0]["steps"])
    assert text.endswith("Answer: B")
    assert "3,009 characters left out" in text
    assert "cut in the middle" in shown.note


def scored(one: Graded, *scores: tuple[float | None, tuple[float, ...]]) -> Graded:
    """With the scores of its first samples by a verifier named `sure`."""
    rows = (StepScores(one.samples[i].key, i, "", steps, score) for i, (score, steps) in enumerate(scores))
    return replace(one, scores={"sure": tuple(rows)})


def test_each_step_stands_with_its_score_and_a_reply_cut_in_the_middle_keeps_its_steps(monkeypatch):
    monkeypatch.setattr("experiments.exhibits.TEXT_CHARACTERS", 20)
    asked = question(0, "Easy")
    one = scored(graded(asked, [("Look at it.\nTwo and two.\nAnswer: A", "A"), ("B", "B")]), (0.25, (0.25, 1 / 3, 0.5)))
    [draw] = browser(run([asked], [one])).details[0]["draws"]
    first, second = draw["samples"]
    assert first["scores"] == [{"score": 0.25, "steps": [0.25, 0.333, 0.5], "status": "ok"}]
    assert first["steps"] == ["Look at i[... 3 characters left out ...]", "[... 13 characters left out ...]", "Answer: A"]
    assert second["scores"] == [None]


@pytest.mark.parametrize(
    ("scores", "fooled"),
    [
        ((0.4, 0.5, 0.9), True),  # the wrong one in the middle; the last has no answer
        ((0.5, 0.5, 0.9), False),
        ((0.5, 0.4, 0.9), False),
        ((None, 0.5, 0.9), False),
        ((0.4, None, 0.9), False),
    ],
)
def test_a_verifier_is_fooled_where_a_wrong_answer_is_above_every_right_one(scores, fooled):
    one = graded(question(0, "Easy"), [("A", "A"), ("B", "B"), ("", None)])
    assert is_fooled(scored(one, *((score, ()) for score in scores)), "sure") == fooled


def test_samples_without_an_answer_are_counted_by_reason():
    asked = question(0, "Easy")
    one = graded(asked, [("A", "A"), ("", None), ("", None)])
    one = replace(one, verdicts=(Verdict(0.0, "ungraded"), *one.verdicts[1:]))
    counted = status_table({"cot": {"q0": one}})
    assert dict(zip(counted["columns"], counted["rows"][0]["counts"], strict=True)) == {
        "samples": 3,
        "answered": 1,
        "truncated": 2,
        "refused": 0,
        "failed": 0,
        "ungraded": 1,
    }


def test_a_mixture_of_engines_and_a_model_organism_are_announced():
    questions = [question(0, "Easy"), question(1, "Hard")]
    arguments = run(questions, [], engines={"vllm 0.12": 5, "transformers 5.24": 7})
    arguments["exam"] = replace(arguments["exam"], name="pocket")
    text = " ".join(Page(render(**arguments)).text.split())
    assert "A mixture of engines" in text
    assert "transformers 5.24 (7)" in text
    assert "A model organism" in text


def test_the_seed_question_is_answered_from_the_interval_of_the_change():
    questions = [question(number, "Easy" if number < 20 else "Hard") for number in range(40)]
    gains = {"vote": (0.4, 0.0), "best": (0.0, 0.4), "idle": (0.0, 0.0)}
    outcomes = {
        name: {
            one.id: [(k, Outcome(0.3 + (gain[number >= 20] if k == 8 else 0), 1, k, 1, k, None)) for k in (1, 8)]
            for number, one in enumerate(questions)
        }
        for name, gain in gains.items()
    }
    lines = gap_lines(curves(questions, outcomes))
    assert [(line.strategy, line.reading) for line in lines] == [
        ("vote", "widens"),
        ("best", "narrows"),
        ("idle", "shows no clear change"),
    ]
    assert lines[0].easy == pytest.approx((0.3, 0.7))
    assert lines[0].matched is not None
    assert lines[0].matched.value == pytest.approx(0.4)  # both levels spend the same here, so equal tokens are equal k
    assert gap_answer(lines) == (
        "It depends on how the answer is selected: "
        "the gap narrows with best, widens with vote and shows no clear change with idle."
    )
    assert gap_answer(lines[:1]) == "No: it widens with vote."
    assert gap_answer([]).startswith("This run has no method")


@pytest.mark.parametrize(
    ("low", "high", "text"), [(-0.2, -0.1, "narrows"), (0.1, 0.2, "widens"), (-0.1, 0.1, "shows no clear change")]
)
def test_a_change_is_claimed_only_where_its_interval_excludes_zero(low, high, text):
    assert reading(Change(1, 8, (low + high) / 2, low, high)) == text


def test_negative_numbers_have_a_true_minus_sign():
    assert (signed(-0.1234), signed(0.05), percent(-0.5)) == ("\u221212.3", "+5.0", "\u221250.0")


def test_equal_curves_give_equal_pages_and_no_other_file(tmp_path):
    questions = [question(0, "Easy"), question(1, "Hard")]
    arguments = run(questions, [graded(one, [("A", "A")]) for one in questions])
    results = Results(Plan(None, arguments["exam"], {}), arguments["graded"], {}, arguments["outcomes"])
    for name in ("one.html", "two.html"):
        write_report(tmp_path / name, arguments["manifest"], arguments["found"], results)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.html", "two.html"]


def test_a_figure_has_a_panel_per_level_and_takes_names_with_dollar_signs_as_they_are():
    questions = [question(0, "Easy"), question(1, "Hard")]
    outcomes = {"$x$ <b>": {one.id: [(k, Outcome(0.5, 1, k, 1, k, 5e9)) for k in (1, 2)] for one in questions}}
    drawn = figures.figure(curves(questions, outcomes), "topic_difficulty", "flops")
    assert [panel.get_title(loc="left") for panel in drawn.axes] == ["all questions  (n = 2)", "Easy  (n = 1)", "Hard  (n = 1)"]
    text = figures.svg(drawn)
    assert "$x$ &lt;b&gt;" in text
    assert "<b>" not in text
