import os
import re
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from ttc.errors import UserError
from ttc.frames import read_frames
from ttc.pocket import exam
from ttc.records import LETTERS, FrameRule

MANY = 2000

HOW_MANY_SOLVED = 10_000 if os.environ.get("TTC_SLOW") == "full" else MANY

WORDS = {
    "@": lambda value: value * 2,
    "#": lambda value: value + 10,
    "%": lambda value: Fraction(value) / 2,
    "&": lambda value: value % 10,
    "$": lambda value: sum(int(digit) for digit in str(value)),
    "~": lambda value: value * 3,
    "!": lambda value: 99 - value,
    "two such in parallel": lambda value: 1 / (1 / value + 1 / value),
    "three such in parallel": lambda value: 1 / (1 / value + 1 / value + 1 / value),
    "brace": lambda value: value + 2,
    "dozen": lambda value: value + 12,
    "score": lambda value: value + 20,
    "pairs": lambda value: Fraction(value) / 2,
    "triads": lambda value: Fraction(value) / 3,
    "gear": lambda value: value * 2,
    "quarter": lambda value: value + Fraction(60, 4),
    "half": lambda value: value + Fraction(60, 2),
    "wrap": lambda value: int(str(value)[-1]),
    "mirror": lambda value: 10 - value,
    "round": lambda value: value + value,
    "relay": lambda value: value + value + value,
    "mean": lambda value: Fraction(value + 0) / 2,
    "lead": lambda value: value + 5,
}


def solve(text: str, shown: dict[str, int]) -> Fraction:
    """The answer from the words and the pictures' values alone, by other code than the exam's."""
    start, *rest = re.fullmatch(r"(?:<image \d> )*Take (.*)\. [A-Z].*\?", text)[1].split(", ")
    value = Fraction(shown[start])
    for words in rest:
        if words in WORDS:
            value = Fraction(WORDS[words](value))
        elif words.endswith("in series"):
            value += shown[words.split()[0]]
        else:
            value += shown[words[2:]] * {"+": 1, "-": -1}[words[0]]
    if text.endswith("power?"):
        return value * shown["I"] ** 2
    return value * shown["I"] if text.endswith("voltage?") else value


@pytest.mark.parametrize("subject", exam.SUBJECTS)
def test_an_independent_solver_agrees_with_every_gold(subject):
    for index in range(HOW_MANY_SOLVED):
        source = exam.problem("train", subject, index)
        assert solve(source.chain.text, dict(source.chain.quantities)) == source.answer, source.id


@pytest.mark.parametrize("subject", exam.SUBJECTS)
def test_options_are_distinct_and_hold_the_gold_once(subject):
    for index in range(MANY):
        source = exam.problem("train", subject, index)
        if source.options:
            assert len(set(source.options)) == len(source.options) in (4, 5)
            assert source.options.count(source.answer) == 1
            assert LETTERS.index(exam.answer_text(source)) == source.options.index(source.answer)


@pytest.mark.parametrize("subject", exam.SUBJECTS)
def test_steps_fit_the_level_and_every_question_needs_the_image_and_knowledge(subject):
    for index in range(300):
        source = exam.problem("train", subject, index)
        assert len(source.chain.moves) in exam.STEPS[source.level]
        assert source.chain.start in source.chain.quantities
        assert any(source.subject.rules[move.rule].is_knowledge for move in source.chain.moves)


def test_levels_types_and_subjects_are_balanced():
    counts = Counter((p.subject.name, p.level, bool(p.options)) for p in exam.problems("test"))
    assert set(counts.values()) == {600 // len(exam.SUBJECTS) // 6}


def test_the_most_frequent_answer_and_the_middle_option_stay_near_chance():
    questions = list(exam.problems("test"))
    choice = [p for p in questions if p.options]
    assert max(Counter(exam.answer_text(p) for p in choice).values()) / len(choice) < 0.3
    middle = [sorted(p.options).index(p.answer) == len(p.options) // 2 for p in choice]
    assert np.mean(middle) < 0.3
    opens = [p for p in questions if not p.options]
    assert max(Counter(p.answer for p in opens).values()) / len(opens) < 0.1


def test_the_words_alone_do_not_settle_the_answer():
    answers: dict[str, set[int]] = {}
    for index in range(3000):
        source = exam.problem("train", "Circuits", 3 * index)
        answers.setdefault(source.chain.text, set()).add(source.answer)
    asked_often = sorted(answers.values(), key=len)[-10:]
    assert all(len(values) >= 5 for values in asked_often)


def test_another_process_writes_the_same_exam():
    code = "from ttc.benchmarks.pocket import Pocket; print(Pocket(split='validation').load().fingerprint)"
    hashes = {subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout for _ in range(2)}
    assert len(hashes) == 1


def test_splits_share_no_question():
    shown = [
        (source.chain.text, tuple(source.chain.quantities.values()))
        for split in ("validation", "test")
        for source in exam.problems(split)
    ]
    trained = {
        (source.chain.text, tuple(source.chain.quantities.values()))
        for subject in exam.SUBJECTS
        for index in range(MANY)
        for source in [exam.problem("train", subject, index)]
    }
    assert len(set(exam.SEEDS.values())) == len(exam.SEEDS)
    assert len(set(shown)) == len(shown)
    assert not trained.intersection(shown)


def test_a_picture_is_small_rgb_and_shows_each_value_in_its_own_cell():
    source = exam.problem("train", "Tables", 0)
    image = np.asarray(Image.open(BytesIO(exam.media(source)[0].data)))
    assert image.shape == (48, 48, 3)
    quantities = dict(source.chain.quantities)
    changed = {**quantities, "q2": quantities["q2"] % 9 + 1}
    drawn = [np.asarray(source.subject.draw(values, exam.Random(5))[0]) for values in (quantities, changed)]
    rows, columns, _ = np.nonzero(drawn[0] != drawn[1])
    assert 24 <= rows.min() <= rows.max() < 36
    assert 24 <= columns.min() <= columns.max() < 36


@pytest.mark.parametrize("subject", exam.SUBJECTS)
def test_another_value_changes_the_picture_that_shows_it_and_no_other(subject):
    source = exam.problem("train", subject, 4)
    name = source.chain.start
    changed = {**source.chain.quantities, name: source.chain.quantities[name] % 9 + 1}
    before, after = (source.subject.draw(values, exam.Random(5)) for values in (source.chain.quantities, changed))
    assert sum(one.tobytes() != two.tobytes() for one, two in zip(before, after, strict=True)) == 1


def test_a_third_of_the_charts_are_two_and_their_values_may_come_from_either():
    sources = [exam.problem("train", "Bars", index) for index in range(600)]
    two = [source for source in sources if len(exam.worded(source).text.split("<image ")) == 3]
    assert 0.25 < len(two) / len(sources) < 0.42
    read = [{move.quantity for move in source.chain.moves} | {source.chain.start} for source in two]
    assert any(names & set("abcd") and names & set("efgh") for names in read)


def test_options_that_are_images_show_the_answer_once():
    pictured = [source for index in range(300) if (source := exam.problem("train", "Dials", index)).is_pictured]
    assert len(pictured) >= 30
    for source in pictured:
        question = exam.question(source)
        assert question.options == tuple(f"<image {n}>" for n in range(2, len(source.options) + 2))
        assert [media.marker for media in question.media] == list(range(1, len(source.options) + 2))
        assert len({media.sha256 for media in question.media}) == len(question.media)


def test_a_film_shows_its_frames_all_but_exactly_and_one_second_apart():
    source = exam.problem("train", "Motion", 1)
    (media,) = exam.media(source)
    frames = read_frames(media, FrameRule())
    assert frames.seconds == (0, 1, 2, 3)
    for decoded, drawn in zip(frames.images, exam.pictures(source), strict=True):
        assert np.abs(np.asarray(decoded, dtype=int) - np.asarray(drawn)).max() <= 3


def test_a_question_is_found_again_by_its_id():
    source = exam.problem("validation", "Circuits", 41)
    assert exam.find("validation_Circuits_42") == source
    with pytest.raises(UserError, match="validation_Clocks_1"):
        exam.find("validation_Clocks_1")
