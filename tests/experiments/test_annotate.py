"""A person's path through `ttc annotate`, in a terminal of its own; and the pieces below."""

import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from experiments.annotate import Annotation, Labels, agreement, annotators, queue, read
from experiments.mistakes import open_run, wrong_replies
from ttc.errors import UserError

QUESTIONS = 14
PROMPT = b"kind (? for help): "


@pytest.fixture
def run(tmp_path: Path, ttc: Callable) -> Path:
    """Questions with an explanation; two replies to each are wrong, the third is right."""
    rows = [
        {"id": f"q{n}", "question": f"What is {n} plus {n}?", "gold": str(2 * n), "explanation": f"Twice {n} is {2 * n}."}
        for n in range(1, QUESTIONS + 1)
    ]
    (tmp_path / "sums.jsonl").write_text("\n".join(map(json.dumps, rows)))
    said = {f"q{n}": [f"Answer: {n}", f"I see {n}.\nAnswer: 999", f"Answer: {2 * n}"] for n in range(1, QUESTIONS + 1)}
    config = tmp_path / "run.yaml"
    config.write_text(
        f"benchmark: {{kind: jsonl, path: {tmp_path / 'sums.jsonl'}}}\n"
        f"backend: {json.dumps({'kind': 'scripted', 'replies': said})}\n"
        f"strategies: [{{kind: vote, n: 3}}]\nbank: {tmp_path / 'bank'}\n"
    )
    assert ttc("run", config, "--out", tmp_path / "run").code == 0
    return tmp_path / "run"


class Terminal:
    """`ttc annotate` behind a pseudo-terminal: what a person types, and what is shown."""

    def __init__(self, run: Path, name: str) -> None:
        master, slave = pty.openpty()
        self._master: int | None = master
        command = [sys.executable, "-m", "experiments", "annotate", str(run), "--name", name, "--size", "12"]
        self._process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.shown = b""

    @property
    def _open(self) -> int:
        assert self._master is not None
        return self._master

    def wait_for(self, text: bytes) -> bytes:
        """All that is shown up to this text."""
        end = time.monotonic() + 90
        while text not in self.shown:
            assert time.monotonic() < end, self.shown
            try:
                self.shown += os.read(self._open, 65536)
            except OSError:  # the other side is closed
                raise AssertionError(self.shown.decode()) from None
        before, _, self.shown = self.shown.partition(text)
        return before

    def type(self, *lines: str) -> list[bytes]:
        """Answer as many questions; returns what was shown before each."""
        seen = []
        for line in lines:
            seen.append(self.wait_for(PROMPT))
            os.write(self._open, line.encode() + b"\n")
        return seen

    def leave(self) -> str:
        """What is shown until the end."""
        chunks = [self.shown]
        while True:
            try:
                chunk = os.read(self._open, 65536)
            except OSError:
                break
            if not chunk:
                break
            chunks.append(chunk)
        assert self._process.wait(timeout=60) == 0
        return b"".join(chunks).decode()

    def kill(self) -> None:
        if self._master is not None:
            self._process.kill()
            self._process.wait()
            os.close(self._master)
            self._master = None


@pytest.fixture
def terminal(run: Path) -> Iterator[Callable[[str], Terminal]]:
    opened: list[Terminal] = []

    def open_(name: str) -> Terminal:
        opened.append(Terminal(run, name))
        return opened[-1]

    yield open_
    for one in opened:
        one.kill()


def test_label_ten_stop_resume_and_a_second_annotator(run, terminal):
    first = terminal("zoe")
    shown = first.type(*["4", "3 1", "banana", "?", "4", "1", "b", "2", "4", "4", "4", "4", "4"])
    assert b"Twice" in shown[0]
    assert b"none of the keys" in shown[3]
    first.wait_for(PROMPT)
    first.kill()  # the tenth is still to come: what was said is on disk

    labels = read(run / "annotations/zoe.jsonl")
    assert len(labels) == 9
    assert [one.kind for one in labels.values()].count("domain_perception") == 1, "b took one label back"
    assert [one.also for one in labels.values() if one.kind == "knowledge"] == [("perception",)]

    again = terminal("zoe")
    again.type("4", "b", "4", "q")
    assert "1 labelled now, 10 of 12 in all" in again.leave()

    second = terminal("bob")
    seen = second.type(*["4"] * 12)
    assert not any(b"zoe" in screen for screen in seen)
    end = second.leave()
    assert "12 labelled now, 12 of 12" in end
    assert "bob, zoe" in end
    assert "Krippendorff's alpha" in end
    both = agreement({who: {id: one.kind for id, one in found.items()} for who, found in annotators(run).items()})
    assert (both.pairs[0].both, both.pairs[0].same) == (10, 8)


def test_everybody_labels_the_same_replies_one_a_question(run):
    replies = wrong_replies(open_run(run))
    assert len(replies) == 2 * QUESTIONS
    chosen = queue(replies, size=10)
    assert chosen == queue(list(reversed(replies)), size=10)
    assert len({reply.question.id for reply in chosen}) == 10
    assert queue(replies, size=12)[:10] == chosen
    assert queue(replies, size=10, seed=1) != chosen


def test_half_a_line_of_a_killed_sitting_is_dropped_and_other_damage_told(tmp_path):
    labels = Labels(tmp_path, "ann")
    labels.add(Annotation("k/0", "q", "logic"))
    with labels.path.open("a") as file:
        file.write('{"id": "k/1", "que')
    again = Labels(tmp_path, "ann")
    again.add(Annotation("k/2", "r", "knowledge", ("logic",)))
    again.path.write_text(again.path.read_text().rstrip())  # as an editor may leave it
    assert list(read(again.path)) == ["k/0", "k/2"]
    Labels(tmp_path, "ann").add(Annotation("k/3", "s", "logic"))
    assert list(read(again.path)) == ["k/0", "k/2", "k/3"]
    again.path.write_text("nonsense\n" + again.path.read_text())
    with pytest.raises(UserError, match="line 1"):
        Labels(tmp_path, "ann")


@pytest.mark.parametrize("name", ["", "../ann", "a b", ".hidden"])
def test_a_name_is_a_file_name(tmp_path, name):
    with pytest.raises(UserError, match="name of letters"):
        Labels(tmp_path, name)


def test_agreement_of_three_with_gaps():
    found = agreement(
        {
            "ann": {"1": "logic", "2": "knowledge", "3": "logic"},
            "bob": {"1": "logic", "2": "logic", "3": "logic"},
            "eve": {"9": "logic"},
        }
    )
    assert [(pair.first, pair.second, pair.both, pair.same) for pair in found.pairs] == [("ann", "bob", 3, 2)]
    # coincidences ll 4, lk and kl 1: 2 of 6 differ, by chance 2 * 5 * 1 / 5
    assert found.alpha is not None
    assert found.alpha.mean == pytest.approx(0.0)


def test_a_run_that_nobody_made_is_told(ttc, tmp_path):
    ended = ttc("annotate", tmp_path / "none", "--name", "ann")
    assert ended.code == 2
    assert "no finished run here" in ended.err
