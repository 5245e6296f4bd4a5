"""A whole run through a server that fails 30 % of the calls, against the same run on it when it is calm. Needs TTC_SLOW=1."""

import asyncio
import os
import random
import threading
import time
from collections import Counter
from typing import Any

import pytest

from ttc.backends.openai import OpenAI
from ttc.bank import Bank
from ttc.dispatcher import Dispatcher
from ttc.records import Message, Prompt, Question, Sampling, Text

pytestmark = [
    pytest.mark.skipif(not os.environ.get("TTC_SLOW"), reason="takes a minute; set TTC_SLOW=1"),
    pytest.mark.timeout(600),
]

QUESTIONS, SAMPLES = 60, 8
SECONDS, SLOTS = 0.15, 4
"""What the server needs for a reply, and how many it works on at once: calm, the run takes 18 seconds."""
FAULTS = ("429", "500", "connection", "malformed body", "time-out")


def run(chat_server: Any, folder: Any) -> tuple[float, Counter[str], list[tuple[str, int, str]]]:
    """Seconds, failures, and all samples in the bank."""
    backend = OpenAI(model="m", base_url=chat_server.url, attempt_seconds=1.5)
    opened: list[Any] = []

    class Watched:
        identity, shape = backend.identity, backend.shape

        def open(self) -> Any:
            opened.append(backend.open())
            return opened[-1]

    async def draw() -> list[Any]:
        async with Dispatcher(Watched(), Bank(folder)) as source:
            asked = [Question(f"q{i}", "exam", "open", f"What is {i}?") for i in range(QUESTIONS)]
            prompts = [Prompt((Message("user", (Text(q.text),)),)) for q in asked]
            draws = (source.samples(q, p, Sampling(), SAMPLES) for q, p in zip(asked, prompts, strict=True))
            return await asyncio.gather(*draws)

    begun = time.monotonic()
    found = asyncio.run(draw())
    seconds = time.monotonic() - begun
    assert Bank(folder).stats().samples == QUESTIONS * SAMPLES
    return seconds, opened[0].failures, [(s.question_id, s.index, s.text) for samples in found for s in samples]


def test_a_run_through_faults_loses_and_doubles_nothing_and_takes_at_most_three_times_as_long(chat_server, tmp_path, capsys):
    slots = threading.Semaphore(SLOTS)
    injected: Counter[str] = Counter()
    chance = random.Random(0)

    def calm(body: dict[str, Any], number: int):
        with slots:
            time.sleep(SECONDS)
        return chat_server.says(body, f"{body['messages'][0]['content']} {body['seed']}")

    def faulty(body: dict[str, Any], number: int):
        with chat_server.lock:
            fault = chance.choice(FAULTS) if chance.random() < 0.3 else ""
            injected[fault] += bool(fault)
        match fault:
            case "429":
                return chat_server.Reply(429, {}, {"retry-after": "0.3"})
            case "500":
                return chat_server.Reply(500, b"oops")
            case "connection":
                return chat_server.Reply(cut=-1)
            case "malformed body":
                return chat_server.Reply(body=b'{"id": "x", "choi')
            case "time-out":
                return chat_server.Reply(body={}, stall=18.0)
        return calm(body, number)

    chat_server.answer = calm
    calm_seconds, failures, expected = run(chat_server, tmp_path / "calm")
    assert not failures
    chat_server.answer = faulty
    seconds, failures, found = run(chat_server, tmp_path / "faulty")
    with capsys.disabled():
        print(f"\ncalm {calm_seconds:.1f} s, with faults {seconds:.1f} s ({seconds / calm_seconds:.2f}x); {dict(failures)}")
    assert found == expected
    assert len(set(found)) == QUESTIONS * SAMPLES
    assert failures.total() >= injected.total() - injected[""]
    assert failures == +injected or failures["time-out"] > injected["time-out"]
    assert seconds < 3 * calm_seconds
