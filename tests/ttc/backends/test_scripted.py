from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from pydantic import TypeAdapter, ValidationError

from ttc.backends import AnyBackend, Scripted
from ttc.errors import BackendUnavailable, UserError
from ttc.protocols import Inbox
from ttc.records import Request, Sample, Sampling

Ask = Callable[..., Request]
DrawAll = Callable[..., list[Sample]]


def test_replies_go_by_question_in_turn_and_start_over(ask: Ask, draw: DrawAll):
    backend = Scripted(replies={"first ?": ("A", "B"), "*": ("C",)})
    samples = draw(backend, ask("first ?", 3), ask("other ?", 2))
    assert [(sample.question_id, sample.text) for sample in samples] == [
        ("first ?", "A"),
        ("first ?", "B"),
        ("first ?", "A"),
        ("other ?", "C"),
        ("other ?", "C"),
    ]


def test_16_then_48_are_the_64_drawn_at_once_in_any_company(ask: Ask, draw: DrawAll):
    backend = Scripted(replies=("A", "B", "C", "D"), pick="seeded")
    parts = draw(backend, ask("x ?", 16)) + draw(backend, ask("x ?", 48, first=16))
    together = [sample for sample in draw(backend, ask("y ?", 3), ask("x ?", 64)) if sample.question_id == "x ?"]
    assert parts == together


def test_seeded_replies_come_with_equal_chance(ask: Ask, draw: DrawAll):
    counts = Counter(sample.text for sample in draw(Scripted(replies=("A", "B"), pick="seeded"), ask("x ?", 2000)))
    assert abs(counts["A"] - 1000) < 4 * 500**0.5


def test_tokens_are_words_and_runs_of_newlines(ask: Ask, draw: DrawAll):
    (sample,) = draw(Scripted(replies=("one two\n\nthe answer",), tokens_per_image=9), ask("what is it ?", colors=["red"]))
    assert (sample.prompt_tokens, sample.image_tokens, sample.completion_tokens, len(sample.token_ids)) == (13, 9, 5, 5)
    assert sample.finish == "stop"


def test_max_tokens_cuts_and_says_so(ask: Ask, draw: DrawAll):
    (sample,) = draw(Scripted(replies=("one two three",)), ask("x ?", sampling=Sampling(max_tokens=2)))
    assert (sample.text, sample.finish, sample.completion_tokens) == ("one two", "length", 2)


def test_a_reply_taken_step_by_step_is_the_whole_reply(ask: Ask, draw: DrawAll):
    backend = Scripted(replies=("one two\nthree\nfour five",))
    request = ask("x ?", sampling=Sampling(stop=("\n",)))
    texts, prefix = [], ()
    for _ in range(4):
        (sample,) = draw(backend, replace(request, prefix=prefix))
        texts.append(sample.text)
        prefix += sample.token_ids
    assert texts == ["one two", "three", "four five", ""]
    assert len(prefix) == 7


def test_a_status_gives_samples_without_text(ask: Ask, draw: DrawAll):
    samples = draw(Scripted(replies=("A",), statuses={"bad ?": "refused"}), ask("bad ?", 2), ask("good ?"))
    assert [(sample.status, sample.text, sample.completion_tokens) for sample in samples] == [
        ("refused", "", 0),
        ("refused", "", 0),
        ("ok", "A", 1),
    ]


def test_a_breakdown_comes_after_the_samples_before_it(ask: Ask, inbox: Callable[..., Inbox]):
    serving = Scripted(replies=("A",), unavailable_after=3).open().serve(inbox(ask("x ?", 2), ask("y ?", 2)))
    assert [next(serving).index for _ in range(3)] == [0, 1, 0]
    with pytest.raises(BackendUnavailable, match="after 3 samples"):
        next(serving)


def test_identity_is_what_is_said_not_when_nor_how_long():
    calm, troubled = Scripted(replies=("A",)), Scripted(replies=("A",), delay_seconds=1, unavailable_after=3)
    assert calm.identity() == troubled.identity() != Scripted(replies=("B",)).identity()


def test_a_question_without_a_reply_is_named(ask: Ask, draw: DrawAll):
    with pytest.raises(UserError, match="no reply for question y \\?"):
        draw(Scripted(replies={"x ?": ("A",)}), ask("y ?"))


def test_an_empty_list_of_replies_is_refused():
    with pytest.raises(ValidationError, match="an empty list says nothing"):
        Scripted(replies={"x": ()})


def test_kind_chooses_the_backend():
    assert isinstance(TypeAdapter(AnyBackend).validate_python({"kind": "scripted", "replies": ["A"]}), Scripted)
