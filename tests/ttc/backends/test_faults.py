"""A whole run through a server that fails 30 % of the calls, against the same run on it when it is calm.

Run with -m slow, for over a minute; with TTC_SLOW=full attempts have 5 s, stalls last 60 s, and it takes ten minutes.
"""

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
    pytest.mark.slow,
    pytest.mark.timeout(1200),
]

QUESTIONS, SAMPLES = 60, 8
SLOTS = 4
"""Replies that the server works on at once."""
SECONDS, ATTEMPT, STALL, RETRY_AFTER = (1.5, 5.0, 60.0, 1.0) if os.environ.get("TTC_SLOW") == "full" else (0.15, 1.5, 18.0, 0.3)
"""What it needs for a reply, the time limit of an attempt, how long a stall lasts, and what a 429 asks for. Calm, the run takes
18 or 180 seconds."""
FAULTS = ("429", "500", "connection", "malformed body", "time-out")


def run(chat_server: Any, folder: Any) -> tuple[float, Counter[str], list[tuple[str, int, str]]]:
    """Seconds, failures, and all samples in the bank."""
    backend = OpenAI(model="m", base_url=chat_server.url, attempt_seconds=ATTEMPT)
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
            if fault:
                injected[fault] += 1
        match fault:
            case "429":
                return chat_server.Reply(429, {}, {"retry-after": str(RETRY_AFTER)})
            case "500":
                return chat_server.Reply(500, b"oops")
            case "connection":
                return chat_server.Reply(cut=-1)
            case "malformed body":
                return chat_server.Reply(body=b'{"id": "x", "choi')
            case "time-out":
                return chat_server.Reply(body={}, stall=STALL)
        return calm(body, number)

    chat_server.answer = calm
    calm_seconds, failures, expected = run(chat_server, tmp_path / "calm")
    assert failures.total() == failures["time-out"] < 0.1 * QUESTIONS * SAMPLES  # until growth has found the server's queue
    chat_server.answer = faulty
    seconds, failures, found = run(chat_server, tmp_path / "faulty")
    with capsys.disabled():
        print(f"\ncalm {calm_seconds:.1f} s, with faults {seconds:.1f} s ({seconds / calm_seconds:.2f}x); {dict(failures)}")
    assert found == expected
    assert len(set(found)) == QUESTIONS * SAMPLES
    assert failures - Counter({"time-out": failures["time-out"]}) == injected - Counter({"time-out": injected["time-out"]})
    assert failures["time-out"] >= injected["time-out"]
    assert seconds < 3 * calm_seconds
