"""Device time: what the engine waits for its work does not count."""

import asyncio

from ttc.backends.scripted import Scripted
from ttc.bank import Bank
from ttc.dispatcher import Dispatcher
from ttc.inbox import Queue
from ttc.records import Message, Prompt, Question, Sample, Sampling, Text
from ttc.stopwatch import Stopwatch


def test_a_lap_leaves_out_what_was_paused(monkeypatch):
    clock = iter([0.0, 1.0, 5.0, 7.0, 7.5])
    monkeypatch.setattr("ttc.stopwatch.monotonic", lambda: next(clock))
    watch = Stopwatch()
    with watch.paused():  # from 1 to 5
        pass
    assert (watch.lap(), watch.lap()) == (3.0, 0.5)


class OnDevices(Scripted, frozen=True):
    """The scripted engine, as if it had two devices."""

    devices: int = 2


def draw(backend: Scripted, folder) -> list[Sample]:
    """Three samples of each of two questions."""

    async def run() -> list[Sample]:
        found: list[Sample] = []
        async with Dispatcher(backend, Bank(folder)) as dispatcher:
            for number in range(2):
                asked = Question(f"q{number}", "exam", "open", "What?")
                prompt = Prompt((Message("user", (Text(f"What is {number}?"),)),))
                found += await dispatcher.samples(asked, prompt, Sampling(), 3)
        return found

    return asyncio.run(run())


def test_waiting_for_work_is_no_work(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("ttc.stopwatch.monotonic", lambda: now[0])
    queue = Queue(lambda order, status, reason: None)

    def wait() -> None:
        now[0] += 100.0
        queue.end()

    monkeypatch.setattr(queue._condition, "wait", wait)
    now[0] += 1.0
    assert queue.take(wait=True) is None
    assert queue.at_work.lap() == 1.0


def test_the_device_time_of_samples_is_what_their_engine_worked_times_its_devices(tmp_path):
    samples = draw(OnDevices(replies=("yes",), delay_seconds=0.02), tmp_path)
    seconds = [sample.device_seconds for sample in samples]
    assert None not in seconds
    assert sum(filter(None, seconds)) >= 2 * 2 * 0.02  # it waits before each question


def test_an_engine_whose_devices_are_not_ours_has_no_device_time(tmp_path):
    samples = draw(Scripted(replies=("yes",)), tmp_path)
    assert [sample.device_seconds for sample in samples] == [None] * 6
    assert [sample.device_seconds for sample in Bank(tmp_path).samples({samples[0].key})[samples[0].key].values()] == [None] * 3
