"""The OpenAI-compatible backend against a real HTTP server that misbehaves on demand."""

import asyncio
import base64
import io
import logging
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PIL import Image

from ttc.backends.openai import OpenAI
from ttc.bank import Bank
from ttc.compute import Prices
from ttc.dispatcher import Dispatcher, Stopped
from ttc.errors import BackendUnavailable, UserError
from ttc.records import Message, Prompt, Question, Request, Sample, Sampling, Text

KEY = "sk-secret-123456"


class Orders:
    """An inbox with a fixed list of requests."""

    stopped = False

    def __init__(self, *requests: Request) -> None:
        self._requests: Iterator[Request] = iter(requests)

    def take(self, *, wait: bool) -> Request | None:
        return next(self._requests, None)


def request(id: str = "q", n: int = 1, first: int = 0, **changes: Any) -> Request:
    values = {
        "prompt": Prompt((Message("user", (Text(f"ask {id}"),)),)),
        "images": (),
        "sampling": Sampling(),
        "seed": 100 + first,
    }
    return Request("k" * 64, id, first=first, n=n, **{**values, **changes})


def drawn(backend: OpenAI, *requests: Request) -> list[Sample]:
    """All samples, by question and index."""
    engine = backend.open()
    try:
        return sorted(engine.serve(Orders(*requests)), key=lambda sample: (sample.question_id, sample.index))
    finally:
        engine.close()


def asked(body: dict[str, Any]) -> str:
    return body["messages"][-1]["content"].removeprefix("ask ")


@pytest.fixture
def backend(chat_server) -> Callable[..., OpenAI]:
    return lambda **settings: OpenAI(model="m", base_url=chat_server.url, **settings)


def test_each_sample_is_one_call_with_its_own_seed_and_the_servers_counts(chat_server, backend):
    usage = {"prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 2}}
    chat_server.answer = lambda body, number: chat_server.says(body, f"seed {body['seed']}", **usage)
    samples = drawn(backend(), request(n=5, first=2))
    assert [(sample.index, sample.text) for sample in samples] == [(2 + j, f"seed {102 + j}") for j in range(5)]
    counts = {(s.prompt_tokens, s.cached_tokens, s.completion_tokens, s.reasoning_tokens, s.finish) for s in samples}
    assert counts == {(7, 4, 3, 2, "stop")}
    assert samples[0].engine == "openai-compatible m"


def test_the_settings_reach_the_server_under_the_names_it_knows(chat_server, backend):
    sampling = Sampling(temperature=0.5, top_p=0.9, top_k=7, max_tokens=11, stop=("END",))
    drawn(backend(max_tokens_name="max_tokens", extra={"thinking": False}), request(sampling=sampling))
    sent = {name: value for name, value in chat_server.bodies[0].items() if name not in ("messages", "seed")}
    assert sent == {
        "model": "m", "temperature": 0.5, "top_p": 0.9, "max_tokens": 11, "stop": ["END"], "top_k": 7, "thinking": False,
    }  # fmt: skip


def test_greedy_and_unseeded_calls_carry_no_seed(chat_server, backend):
    drawn(backend(), request(sampling=Sampling(temperature=0)))
    drawn(backend(seeded=False), request())
    assert not any("seed" in body for body in chat_server.bodies)


FAULTS = {
    "429": {"status": 429, "body": {"error": {"message": "slow down"}}, "headers": {"retry-after": "0.1"}},
    "500": {"status": 500, "body": b"oops"},
    "503": {"status": 503, "body": b"<html>busy</html>", "headers": {"content-type": "text/html"}},
    "408": {"status": 408, "body": {}},
    "connection": {"cut": -1},
    "connection (within the body)": {"cut": 20},
    "malformed body": {"body": b'{"choices": [{"mess'},
    "malformed body (no text)": {"body": b"\xff\xfe{}"},
    "malformed body (null)": {"body": None},
    "malformed body (page)": {"body": b"<html>login</html>", "headers": {"content-type": "text/html"}},
    "malformed body (no choice)": {"body": {"choices": [], "usage": None}},
    "malformed body (no message)": {"body": {"choices": [{"index": 0}]}},
    "malformed body (error)": {"body": {"error": {"message": "overloaded"}}},
    "time-out": {"stall": 60.0},
}


def test_every_fault_is_counted_and_no_sample_is_lost_or_doubled(chat_server, backend, caplog):
    tried: Counter[str] = Counter()

    def answer(body: dict[str, Any], number: int):
        with chat_server.lock:
            tried[asked(body)] += 1
        whole = chat_server.says(body, f"reply to {asked(body)}")
        if tried[asked(body)] > 1:
            return whole
        fault = FAULTS[asked(body)]
        return chat_server.Reply(**{"body": whole.body, **fault})

    chat_server.answer = answer
    engine = backend(concurrency=32, attempt_seconds=2.5).open()
    samples = list(engine.serve(Orders(*(request(id) for id in FAULTS))))
    with caplog.at_level(logging.WARNING):
        engine.close()
    assert sorted((s.question_id, s.index, s.text) for s in samples) == sorted((id, 0, f"reply to {id}") for id in FAULTS)
    made = Counter(name.partition(" (")[0] for name in FAULTS)
    # a kept connection that the server closes just as the next call is sent is one more fault of connection
    assert engine.failures - Counter(connection=engine.failures["connection"] - made["connection"]) == made
    assert "14 calls answered" in caplog.text
    assert "malformed body: 7" in caplog.text


def test_nobody_calls_before_retry_after_is_over(chat_server, backend):
    wait = 0.6

    def answer(body: dict[str, Any], number: int):
        if number == 0:
            return chat_server.Reply(429, {}, {"retry-after": str(wait)})
        return chat_server.says(body, "ok")

    chat_server.answer = answer
    samples = drawn(backend(concurrency=1), *(request(f"q{i}") for i in range(4)))
    assert [sample.status for sample in samples] == ["ok"] * 4
    assert min(chat_server.times[1:]) - chat_server.times[0] >= wait


def test_concurrency_grows_with_success(chat_server, backend):
    def answer(body: dict[str, Any], number: int):
        reply = chat_server.says(body, "ok")
        reply.stall = 0.1  # long beside what this machine may take to send a request
        return reply

    chat_server.answer = answer
    assert len(drawn(backend(concurrency=2, most_concurrency=12), request(n=60))) == 60
    assert 8 <= chat_server.most <= 12


def test_a_server_that_is_gone_ends_the_run_after_the_time_for_all_attempts():
    backend = OpenAI(model="m", base_url="http://127.0.0.1:9/v1", total_seconds=0.4)
    with pytest.raises(
        BackendUnavailable, match=r"question q: no answer from model m in \d attempts .* \(the last: connection\)"
    ):
        drawn(backend, request())


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, {"message": f"wrong key {KEY}"}),
        (403, {"message": "not yours"}),
        (404, {"message": "no model m"}),
        (429, {"message": "pay first", "code": "insufficient_quota"}),
    ],
)
def test_what_no_call_can_pass_ends_the_run_at_once(chat_server, backend, status: int, error: dict[str, str]):
    chat_server.answer = lambda body, number: chat_server.Reply(status, {"error": error})
    with pytest.raises(BackendUnavailable, match=f"the server answers {status}"):
        drawn(backend(concurrency=2), *(request(f"q{i}") for i in range(20)))
    assert len(chat_server.bodies) <= 4


def test_calls_in_flight_when_another_fails_still_bring_their_samples(chat_server, backend):
    def answer(body: dict[str, Any], number: int):
        if asked(body) == "q3":
            return chat_server.Reply(401, {"error": {"message": "expired"}}, stall=0.2)
        reply = chat_server.says(body, "ok")
        reply.stall = 0.5
        return reply

    chat_server.answer = answer
    engine, samples = backend(concurrency=4).open(), list[Sample]()
    with pytest.raises(BackendUnavailable, match="401"):
        samples.extend(engine.serve(Orders(*(request(f"q{i}") for i in range(8)))))
    engine.close()
    assert sorted(sample.question_id for sample in samples) == ["q0", "q1", "q2"]
    assert len(chat_server.bodies) == 4


@pytest.mark.parametrize(
    ("code", "message", "status"),
    [
        (400, "This model's maximum context length is 2048 tokens, your prompt has 4000", "rejected"),
        (413, "Request Entity Too Large", "rejected"),
        (400, "The response was filtered: content management policy", "refused"),
        (403, "your input was flagged by moderation", "refused"),
    ],
)
def test_a_request_that_can_never_work_is_a_sample_without_an_answer(
    chat_server, backend, code: int, message: str, status: str
):
    chat_server.answer = lambda body, number: chat_server.Reply(code, {"error": {"message": message}})
    (sample,) = drawn(backend(), request())
    assert (sample.status, sample.text) == (status, "")
    assert sample.reason.startswith(f"{code}: ")
    assert message in sample.reason


def test_an_unknown_refusal_is_the_requests_own_once_others_have_passed_and_else_the_settings(chat_server, backend):
    def answer(body: dict[str, Any], number: int):
        if asked(body) == "poison":
            return chat_server.Reply(400, {"error": {"message": "cannot parse this image"}})
        return chat_server.says(body, f"{asked(body)} indeed")

    chat_server.answer = answer
    samples = drawn(backend(concurrency=1), request("fine"), request("poison"), request("well"))
    assert [(s.question_id, s.status) for s in samples] == [("fine", "ok"), ("poison", "rejected"), ("well", "ok")]
    assert [s.text for s in samples] == ["fine indeed", "", "well indeed"]
    with pytest.raises(UserError, match="cannot parse this image; mend the settings"):
        drawn(backend(concurrency=1), request("poison"))


def test_a_limit_above_the_models_context_is_a_setting_and_no_overlong_prompt(chat_server, backend):
    message = "max_tokens is too large: 4096. This model's maximum context length is 2048 tokens"
    chat_server.answer = lambda body, number: chat_server.Reply(400, {"error": {"message": message}})
    with pytest.raises(UserError, match="mend the settings"):
        drawn(backend(), request())


def test_n_samples_come_in_one_call_where_the_server_tells_their_tokens_apart(chat_server, backend):
    def answer(body: dict[str, Any], number: int):
        reply = chat_server.says(body, *(f"seed {body['seed'] + j}" for j in range(body["n"])))
        for choice in reply.body["choices"]:
            choice["token_ids"] = list(range(choice["index"] + 1))
        return reply

    chat_server.answer = answer
    samples = drawn(backend(multiple="n"), request(n=4, first=3))
    assert len(chat_server.bodies) == 1
    assert [(s.index, s.text, s.completion_tokens) for s in samples] == [(3 + j, f"seed {103 + j}", j + 1) for j in range(4)]


def test_a_server_that_ignores_n_is_asked_for_the_rest_under_the_right_seeds(chat_server, backend):
    chat_server.answer = lambda body, number: chat_server.says(body, f"seed {body['seed']}")
    samples = drawn(backend(multiple="n"), request(n=3))
    assert [(sample.index, sample.text) for sample in samples] == [(0, "seed 100"), (1, "seed 101"), (2, "seed 102")]
    assert [body.get("n") for body in chat_server.bodies] == [3, 2, None]


def test_choices_whose_tokens_cannot_be_told_apart_and_missing_counts_are_refused(chat_server, backend):
    chat_server.answer = lambda body, number: chat_server.says(body, "a", "b")
    with pytest.raises(UserError, match="no token ids per choice; set multiple: separate"):
        drawn(backend(multiple="n"), request(n=2))

    def uncounted(body: dict[str, Any], number: int):
        reply = chat_server.says(body, "a")
        reply.body["usage"] = None
        return reply

    chat_server.answer = uncounted
    with pytest.raises(UserError, match="sends no usage"):
        drawn(backend(), request())


def test_reasoning_that_comes_apart_stands_in_tags_before_the_reply(chat_server, backend):
    def answer(body: dict[str, Any], number: int):
        reply = chat_server.says(body, "Answer: B")
        reply.body["choices"][0]["message"]["reasoning_content"] = "maybe A"
        return reply

    chat_server.answer = answer
    assert drawn(backend(), request())[0].text == "<think>maybe A</think>Answer: B"


@pytest.mark.parametrize(
    ("change", "status", "finish"),
    [
        ({"finish_reason": "length"}, "ok", "length"),
        ({"finish_reason": "content_filter"}, "refused", ""),
        ({"message": {"role": "assistant", "content": None, "refusal": "I cannot"}}, "refused", ""),
    ],
)
def test_how_a_reply_ended_is_kept(chat_server, backend, change: dict[str, Any], status: str, finish: str):
    def answer(body: dict[str, Any], number: int):
        reply = chat_server.says(body, "half")
        reply.body["choices"][0].update(change)
        return reply

    chat_server.answer = answer
    (sample,) = drawn(backend(), request())
    assert (sample.status, sample.finish) == (status, finish)


def test_images_travel_as_png_data_urls_at_their_places(chat_server, backend, ask):
    asked = ask("which?", colors=["red", "blue"])
    drawn(backend(), asked)
    first, second, text = chat_server.bodies[0]["messages"][0]["content"]
    assert text == {"type": "text", "text": "which?"}
    for part, (image,) in zip((first, second), asked.images, strict=True):
        sent = Image.open(io.BytesIO(base64.b64decode(part["image_url"]["url"].removeprefix("data:image/png;base64,"))))
        assert sent.tobytes() == image.tobytes()


def test_the_spending_limit_is_passed_by_no_more_than_what_is_in_flight(chat_server, backend):
    # 10 tokens a call at 100,000 per million: each costs 1
    prices = Prices(input=100_000, output=100_000)
    engine = backend(concurrency=3, most_concurrency=3, prices=prices, spend_limit=7.5).open()
    samples: list[Sample] = []
    with pytest.raises(BackendUnavailable, match=r"spend_limit 7.50"):
        samples.extend(engine.serve(Orders(request(n=50))))
    engine.close()
    assert 8 <= len(chat_server.bodies) <= 8 + 2
    assert len(samples) == len(chat_server.bodies)


def test_the_key_goes_to_the_server_and_nowhere_else(chat_server, backend, monkeypatch, caplog):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    chat_server.answer = lambda body, number: chat_server.Reply(400, {"error": {"message": f"context length, key {KEY}"}})
    config = backend()
    (sample,) = drawn(config, request())
    chat_server.answer = lambda body, number: chat_server.Reply(401, {"error": {"message": f"wrong key {KEY}"}})
    with pytest.raises(BackendUnavailable) as raised:
        drawn(config, request())
    assert set(chat_server.authorizations) == {f"Bearer {KEY}"}
    assert "[key]" in sample.reason
    told = [repr(sample), "".join(traceback.format_exception(raised.value)), caplog.text, repr(config), str(config.identity())]
    assert not any(KEY in text for text in told)


def test_without_a_key_only_a_server_on_this_machine_is_called(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for url in (None, "https://api.example.org/v1", "https://example.org/localhost"):
        with pytest.raises(UserError, match="no OPENAI_API_KEY"):
            OpenAI(model="m", base_url=url).open()
    OpenAI(model="m", base_url="http://localhost:1/v1").open().close()


def test_an_engine_closes_over_calls_in_flight(chat_server, backend):
    def answer(body: dict[str, Any], number: int):
        reply = chat_server.says(body, "ok")
        reply.stall = 30.0 if number else 0.0
        return reply

    chat_server.answer = answer
    engine = backend().open()
    assert next(iter(engine.serve(Orders(request(n=4))))).text == "ok"
    engine.close()


def test_a_stopped_run_commits_what_is_in_flight_and_the_next_one_draws_the_rest(chat_server, backend, tmp_path):
    gate, arrived = threading.Event(), threading.Event()

    def answer(body: dict[str, Any], number: int):
        if number == 3:
            arrived.set()
        gate.wait(10)
        return chat_server.says(body, f"call {number}")

    chat_server.answer = answer
    questions = [Question(f"q{i}", "exam", "open", f"What is {i}?") for i in range(20)]
    bank = Bank(tmp_path)

    async def run(stop: bool) -> int:
        async with Dispatcher(backend(concurrency=4), bank) as source:
            draws = [asyncio.ensure_future(source.samples(q, request(q.id).prompt, Sampling(), 1)) for q in questions]
            if stop:
                await asyncio.to_thread(arrived.wait, 10)
                source.stop()
                gate.set()
            found = await asyncio.gather(*draws, return_exceptions=True)
            assert any(isinstance(one, Stopped) for one in found) == stop
            return source.executed.samples

    first = asyncio.run(run(stop=True))
    assert 4 <= first < 20
    assert bank.stats().samples == first == len(chat_server.bodies)
    assert asyncio.run(run(stop=False)) == 20 - first
    assert len(chat_server.bodies) == 20


@pytest.mark.parametrize("busy", [False, True])
def test_a_stopped_run_sends_no_further_calls_of_a_request_it_has_begun(chat_server, backend, tmp_path, busy):
    """Be they unsent, or waiting to be sent again after a 429."""
    gate, arrived = threading.Event(), threading.Event()

    def answer(body: dict[str, Any], number: int):
        if number == 1:
            arrived.set()
        gate.wait(10)
        return chat_server.Reply(429, {}, {"retry-after": "20"}) if busy else chat_server.says(body, "ok")

    chat_server.answer = answer
    asked, bank = Question("q", "exam", "open", "What?"), Bank(tmp_path)

    async def run(stop: bool, n: int) -> int:
        async with Dispatcher(backend(concurrency=2), bank) as source:
            draw = asyncio.ensure_future(source.samples(asked, request().prompt, Sampling(), n))
            if stop:
                await asyncio.to_thread(arrived.wait, 10)
                first, then = (gate.set, source.stop) if busy else (source.stop, gate.set)
                first()
                asyncio.get_running_loop().call_later(0.3, then)
                with pytest.raises(Stopped):
                    await draw
            else:
                assert len(await draw) == n
            return source.executed.samples

    kept = asyncio.run(run(True, 12))
    assert len(chat_server.bodies) == 2
    assert bank.stats().samples == kept == (0 if busy else 2)
    chat_server.answer = lambda body, number: chat_server.says(body, "ok")
    assert asyncio.run(run(False, 12)) == 12 - kept
