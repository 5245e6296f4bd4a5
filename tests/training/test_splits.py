"""Splits: nothing that is shared stands on two sides, and what was dropped is counted."""

import io
import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from training.chains import LabelledChain
from training.splits import (
    apart_from,
    content_hash,
    groups,
    leave_one_out,
    manifest,
    page_of,
    random_fold,
    regrouped,
    write_manifest,
)
from ttc.benchmarks.pocket import Pocket
from ttc.errors import UserError
from ttc.media import decode_image, encoded, media_from_bytes
from ttc.records import Gold, Media, Question


def asked(
    id: str, benchmark: str = "mmmu", *, text: str = "", image: str = "", cluster: str = "", source: str = "", **fields: str
) -> Question:
    media = (Media("image", 1, image),) if image else ()
    return Question(id, benchmark, "open", text or f"What is {id}?", media=media, cluster=cluster, fields=fields, source=source)


def chain(question: Question, label: bool = True) -> LabelledChain:
    return LabelledChain(question, ("a",), (label,), (None,), "gold", "x", question.id)


def are_joined(one: Question, other: Question) -> bool:
    return len(set(groups([one, other]).values())) == 1


def test_questions_that_share_an_id_an_image_a_video_a_source_or_their_wording_are_one_group():
    assert are_joined(asked("q"), asked("q", "mmmu_pro"))
    assert are_joined(asked("p", image="ff"), asked("q", "mmvu", image="ff"))
    assert are_joined(asked("p", cluster="v.mp4"), asked("q", cluster="v.mp4"))
    assert are_joined(
        asked("p", source="https://youtu.be/abc?si=1"), asked("q", source="https://www.youtube.com/watch?v=abc&t=3s")
    )
    long = "How many of the nine balls hit the upper wall first?"
    assert are_joined(asked("p", text=long), asked("q", "own", text=long.upper()))


def test_what_only_looks_alike_is_not_joined():
    assert not are_joined(asked("q", "mmvu"), asked("q", "own", text="Another one"))
    assert not are_joined(asked("p", text="What is it?", cluster="a"), asked("q", text="What is it?", cluster="b"))
    assert not are_joined(asked("p", source="https://a.org/wiki/A"), asked("q", source="https://a.org/wiki/B"))


def test_an_image_saved_anew_is_the_same_image_and_another_drawing_of_its_kind_is_not():
    drawn = Pocket(split="train", size=20, subjects=("Tables", "Bars")).load().questions
    assert len(set(groups(drawn).values())) == len(drawn)
    image = decode_image(encoded(drawn[0].media[0]))
    buffers = [io.BytesIO() for _ in range(2)]
    image.save(buffers[0], "JPEG", quality=80)
    image.resize((72, 72)).save(buffers[1], "PNG")
    for copy in (media_from_bytes(buffer.getvalue()) for buffer in buffers):
        assert are_joined(drawn[0], replace(asked("copy"), media=(copy,)))


def test_blank_images_are_no_copies_of_each_other():
    pages = []
    for shade in (250, 255):
        Image.new("L", (64, 64), shade).save(buffer := io.BytesIO(), "PNG")
        pages.append(replace(asked(f"q{shade}"), media=(media_from_bytes(buffer.getvalue()),)))
    assert not are_joined(*pages)


def test_groups_close_over_third_questions():
    bridge = [
        asked("a", image="1"),
        replace(asked("b", cluster="v"), media=asked("", image="1").media),
        asked("c", cluster="v"),
    ]
    assert len(set(groups(bridge).values())) == 1


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=8, max_size=40), st.integers(0, 3))
def test_no_group_stands_on_two_sides_of_a_random_fold(traces, seed):
    questions = [asked(f"q{n}", image=f"{image}", cluster=f"{video}") for n, (image, video) in enumerate(traces)]
    names, fold = groups(questions), random_fold(questions, {}, seed=seed)
    assert len({(names[key], side) for key, side in fold.sides.items()}) == len(set(names.values()))
    assert len(fold.of("test")) <= round(0.2 * len(questions))


def test_training_questions_on_a_page_of_the_test_are_dropped_and_counted():
    questions = [asked("a", subject="X"), asked("b", subject="Y"), asked("c", subject="Y")]
    golds = {"a": Gold("a", (), knowledge=("https://en.wikipedia.org/wiki/Ion",))}
    golds["b"] = Gold("b", (), knowledge=("http://en.wikipedia.org/wiki/Ion#Uses", "https://en.wikipedia.org/wiki/Salt"))
    fold = next(fold for fold in leave_one_out(questions, golds, by="subject", dev=0) if fold.name == "subject X")
    assert fold.of("test") == [("mmmu", "a")]
    assert fold.of("train") == [("mmmu", "c")]
    assert fold.dropped == {"shares a group with test": 0, "shares a page with test": 1}


def test_a_rule_by_its_name_is_no_page_and_costs_no_training_question():
    questions = [asked("a", subject="X"), asked("b", subject="Y")]
    golds = {id: Gold(id, (), knowledge=("Tables: double: two times the value",)) for id in "ab"}
    fold = leave_one_out(questions, golds, by="subject", dev=0)[0]
    assert fold.of("train") == [("mmmu", "b")]


def test_what_shares_a_group_with_the_field_left_out_is_dropped_and_counted():
    questions = [asked("a", image="1", subject="X"), asked("b", image="1", subject="Y"), asked("c", subject="Y")]
    fold = leave_one_out(questions, {}, by="subject", dev=0)[0]
    assert fold.of("train") == [("mmmu", "c")]
    assert fold.dropped["shares a group with test"] == 1


def test_a_question_with_several_values_of_the_field_is_left_out_with_each():
    questions = [replace(asked(id), fields={"img_type": kinds}) for id, kinds in (("a", ("Chart", "Table")), ("b", ("Chart",)))]
    chart, table = leave_one_out([*questions, asked("c")], {}, by="img_type", dev=0)
    assert (chart.of("test"), chart.of("train")) == ([("mmmu", "a"), ("mmmu", "b")], [("mmmu", "c")])
    assert (table.of("test"), table.of("train")) == ([("mmmu", "a")], [("mmmu", "b"), ("mmmu", "c")])


def test_a_field_that_no_question_has_and_impossible_shares_are_refused():
    with pytest.raises(UserError, match="no question has this field"):
        leave_one_out([asked("a", subject="X")], {}, by="discipline")
    with pytest.raises(UserError, match="leave something to train on"):
        random_fold([asked("a")], {}, dev=0.5, test=0.5)


def test_the_hash_of_a_side_follows_its_content_and_not_its_order(tmp_path):
    questions = [asked(f"q{n}") for n in range(20)]
    chains = [chain(question) for question in questions]
    fold = random_fold(questions, {})
    sides = {side: fold.chains(side, chains) for side in ("train", "dev", "test")}
    found = manifest(fold, sides)
    assert found == manifest(fold, {side: mine[::-1] for side, mine in sides.items()})
    assert content_hash(chains) != content_hash([chain(questions[0], label=False), *chains[1:]])
    write_manifest(tmp_path / "m.json", [found])
    assert json.loads((tmp_path / "m.json").read_text()) == [found]
    assert sum(len(mine) for mine in sides.values()) == 20


def test_chains_are_regrouped_under_the_name_they_share():
    questions = [asked("a", image="1"), asked("b", image="1")]
    assert len({one.group for one in regrouped(map(chain, questions), groups(questions))}) == 1


def test_addresses_of_one_page_are_one_page():
    assert page_of("https://en.m.wikipedia.org/wiki/Caf%C3%A9/") == "en.m.wikipedia.org/wiki/Café"
    forms = ["https://youtube.com/shorts/a1?x", "http://youtu.be/a1", "https://m.youtube.com/watch?t=2&v=a1#x"]
    assert {page_of(form) for form in forms} == {"youtube/a1"}


@pytest.mark.shared
def test_released_videos_leave_each_discipline_of_mmvu_with_few_training_questions_lost(shared, tmp_path):
    from ttc.benchmarks.mmvu import MMVU

    exam = MMVU(path=shared / "data/mmvu/validation.json", videos=tmp_path).load()
    names = groups(exam.questions)
    assert len(set(names.values())) == 453  # 583 videos are of so many sources
    folds = leave_one_out(exam.questions, exam.golds, dev=0)
    assert sorted(sum(fold.dropped.values()) for fold in folds) == [11, 39, 121, 140]
    assert all(len(fold.sides) + sum(fold.dropped.values()) == 1000 for fold in folds)


def test_chains_of_a_bench_about_questions_trained_on_are_left_out_whatever_they_wear():
    text = "A beam of length five metres rests on two supports and carries a load. Where is it largest?"
    trained = [Question("dev_1", "mmmu", "multiple-choice", f"<image 1> {text}", ("left", "right"))]
    same = Question("1", "visualprocessbench", "open", f"{text}\nOptions:\nA. left\nB. right")
    other = Question("2", "visualprocessbench", "open", "A beam of length five metres is cut in two. How long is a part?")
    chains = [chain(one) for one in (same, other)]
    assert [left.question.id for left in apart_from(chains, trained)] == ["2"]
