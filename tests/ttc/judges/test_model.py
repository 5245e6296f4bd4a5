"""A language model as judge, and the cascade: rulings read strictly, replies judged once, failures kept apart from wrong."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ttc.backends.openai import OpenAI
from ttc.backends.scripted import Scripted
from ttc.bank import Bank
from ttc.errors import BackendUnavailable, UserError
from ttc.judges.item import Item
from ttc.judges.model import Cascade, ModelJudge, decided, verdict_of
from ttc.records import Answer, Gold, Question, Sample

RIGHT = json.dumps({"extracted_answer": "x", "correct": True})
WRONG = json.dumps({"extracted_answer": "x", "correct": False})


def item(
    number: int = 0, reply: str = "It is 7 N.", *, value: str = "7 N", status: Any = "answered", options: Any = ()
) -> Item:
    asked = Question(f"q{number}", "exam", "multiple-choice" if options else "open", f"What is {number}?", options)
    gold = Gold(asked.id, ("A",) if options else ("seven newtons",))
    return Item(asked, gold, Answer((value,) if value else (), status, "rule"), reply)


def says(*replies: str) -> ModelJudge:
    return ModelJudge(backend=Scripted(replies=replies))


def ruled(text: str, finish: str = "stop"):
    verdict = verdict_of(Sample("k", 0, "q", text, finish=finish))  # type: ignore[arg-type]
    return verdict.credit, verdict.status


@pytest.mark.parametrize(
    ("text", "credit"),
    [
        (RIGHT, 1.0),
        (WRONG, 0.0),
        (f"```json\n{RIGHT}\n```", 1.0),
        (f"<think>maybe {WRONG}</think>\n{RIGHT}", 1.0),
        (f"The set {{1, 2}} is meant, as {WRONG} was too hasty: {RIGHT} I am {{sure}}.", 1.0),
        ('{"correct": true, "extracted_answer": 42}', 1.0),
        (r'{"extracted_answer": "\sqrt{2}, \frac{1}{2}", "correct": true}', 1.0),
        ('{"extracted_answer": "two\nlines", "correct": true}', 1.0),
        ('{"extracted_answer": "", "correct": true}', 0.0),
        ('{"extracted_answer": " ", "correct": true}', 0.0),
        ('{"extracted_answer": null, "correct": true}', 0.0),
    ],
)
def test_a_ruling_is_read_wherever_it_stands_and_right_about_nothing_is_not_right(text: str, credit: float):
    assert ruled(text) == (credit, "graded")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "correct",
        '{"correct": true}',
        '{"extracted_answer": "x", "correct": "perhaps"}',
        '{"extracted_answer": "x", "cor',
        "[1]",
    ],
)
def test_what_is_no_ruling_leaves_the_reply_ungraded(text: str):
    assert ruled(text) == (0.0, "ungraded")


def test_an_ungraded_verdict_says_why():
    assert verdict_of(Sample("k", 0, "q", '{"extracted', finish="length")).rule == "model: cut at its token limit"
    refused = verdict_of(Sample("k", 0, "q", "", status="refused", reason="by a filter"))
    assert (refused.status, refused.rule) == ("ungraded", "model: refused: by a filter")


def test_the_judge_sees_question_options_key_and_reply_but_no_thinking(chat_server, tmp_path):
    chat_server.answer = lambda body, number: chat_server.says(body, RIGHT)
    judge = ModelJudge(backend=OpenAI(model="m", base_url=chat_server.url))
    reply = "<think>{gold} secret doubts</think>I say {reply} is fast"
    asked = item(reply=reply, value="", status="unclear", options=("fast", "slow"))
    assert judge.judge_many([asked], Bank(tmp_path))[0].credit == 1
    (body,) = chat_server.bodies
    user = body["messages"][1]["content"]
    assert all(text in user for text in ("What is 0?", "A. fast\nB. slow", "key: A. fast", "Reply: I say {reply} is fast"))
    assert "doubts" not in user
    assert body["temperature"] == 0
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["extracted_answer", "correct"]


def test_a_second_judging_asks_nothing_and_one_that_was_cut_short_asks_for_the_rest(tmp_path):
    bank, items = Bank(tmp_path), [item(number) for number in range(20)]
    with pytest.raises(BackendUnavailable):
        ModelJudge(backend=Scripted(replies=(RIGHT,), unavailable_after=10)).judge_many(items, bank)
    assert bank.stats().samples == 10
    first = ModelJudge(backend=Scripted(replies=(RIGHT,), unavailable_after=10)).judge_many(items, bank)
    assert [verdict.credit for verdict in first] == [1.0] * 20
    assert ModelJudge(backend=Scripted(replies=(RIGHT,), unavailable_after=0)).judge_many(items, bank) == first


def test_whatever_a_ruling_rests_on_makes_it_anew(tmp_path):
    bank, one = Bank(tmp_path), item()
    says(RIGHT).judge_many([one], bank)
    changed = replace(one, question=replace(one.question, text="What now?")), replace(one, gold=Gold("q0", ("eight",)))
    says(RIGHT).judge_many([one, *changed], bank)
    assert bank.stats().samples == 3
    assert says(WRONG).judge_many([one], bank)[0].credit == 0, "another judge"


def test_a_rationale_is_never_shown_to_the_judge(chat_server, tmp_path):
    chat_server.answer = lambda body, number: chat_server.says(body, RIGHT)
    told = replace(item(), gold=Gold("q0", ("seven newtons",), explanation="itвЂ™s damaged"))
    ModelJudge(backend=OpenAI(model="m", base_url=chat_server.url)).judge_many([told], Bank(tmp_path))
    assert "damaged" not in json.dumps(chat_server.bodies, ensure_ascii=False)


def test_a_judge_that_answers_404_gives_no_verdict(chat_server, tmp_path):
    chat_server.answer = lambda body, number: chat_server.Reply(404, {"error": {"message": "no model m"}})
    with pytest.raises(BackendUnavailable, match="answers 404"):
        ModelJudge(backend=OpenAI(model="m", base_url=chat_server.url)).judge_many([item()], Bank(tmp_path))


def test_equal_replies_to_one_question_are_paid_for_once(tmp_path):
    bank = Bank(tmp_path)
    verdicts = says(RIGHT).judge_many([item(), item(), item(reply="It is 8 N.")], bank)
    assert [verdict.credit for verdict in verdicts] == [1.0] * 3
    assert bank.stats().samples == 2


@pytest.mark.parametrize(
    ("reply", "status"),
    [("", "empty"), ("  ", "unclear"), ("", "truncated"), ("<think>It is seven newtons", "truncated"), ("gone", "failed")],
)
def test_a_reply_that_answers_nothing_gets_no_credit_whatever_the_model_would_say(tmp_path, reply: str, status: str):
    (verdict,) = says(RIGHT).judge_many([item(reply=reply, value="", status=status)], Bank(tmp_path))
    assert (verdict.credit, verdict.status, verdict.rule) == (0.0, "graded", f"rules: {status}")


def test_a_hidden_gold_is_ungraded_and_nobody_is_asked(tmp_path):
    hidden = Item(item().question, Gold("q0", ()), item().answer, "It is 7 N.")
    for judge in (says(RIGHT), Cascade(model=says(RIGHT))):
        assert judge.judge_many([hidden], Bank(tmp_path))[0].status == "ungraded"
    assert not (tmp_path / "samples").exists()


def test_a_judge_that_cannot_be_reached_ends_the_grading_rather_than_scoring_zero(tmp_path):
    judge = ModelJudge(backend=OpenAI(model="m", base_url="http://127.0.0.1:9/v1", total_seconds=0.2))
    with pytest.raises(BackendUnavailable, match="no answer from model m"):
        judge.judge_many([item()], Bank(tmp_path))


def test_mmvus_own_instructions_are_used_from_its_file(shared: Path, chat_server, tmp_path):
    file = shared / "data/prompts/mmvu.json"
    chat_server.answer = lambda body, number: chat_server.says(body, RIGHT)
    judge = ModelJudge(backend=OpenAI(model="m", base_url=chat_server.url, concurrency=1), official=file)
    judge.judge_many([item(), item(1, options=("fast", "slow"))], Bank(tmp_path))
    released = json.loads(file.read_text())
    names = ("judge_open_ended_system", "judge_multi_choice_system")
    assert [body["messages"][0]["content"] for body in chat_server.bodies] == [released[name] for name in names]


def test_a_file_that_is_not_mmvus_is_refused(tmp_path):
    (tmp_path / "other.json").write_text("{}")
    judge = ModelJudge(backend=Scripted(replies=(RIGHT,)), official=tmp_path / "other.json")
    with pytest.raises(UserError, match="judge_open_ended_system; give MMVU's prompt file"):
        judge.judge_many([item()], Bank(tmp_path / "bank"))


def test_a_cascade_asks_the_model_only_where_the_rules_are_not_sure_and_says_how_often(tmp_path):
    options = ("fast", "slow")
    items = [
        item(0, value="A", options=options),  # an option is named: right
        item(1, value="B", options=options),  # and wrong
        item(2, value="", status="unclear", options=options),  # the model reads it
        item(3, value="seven newtons"),  # matches the gold
        item(4, value="a push of seven"),  # other words: the model decides
        item(5, value="", status="refused"),
        item(6, value="", status="abstained"),
        item(7, value="9 N"),  # the model's reply is no ruling
    ]
    script = {"q2": [RIGHT], "q4": [RIGHT], "q7": ["hm"]}
    cascade = Cascade(model=ModelJudge(backend=Scripted(replies=script)))
    verdicts = cascade.judge_many(items, Bank(tmp_path))
    assert [verdict.credit for verdict in verdicts] == [1, 0, 1, 1, 1, 0, 0, 0]
    assert decided(verdicts) == {"rules": 5, "model": 2, "ungraded": 1}
