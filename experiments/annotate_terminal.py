"""The screen and the keys of `ttc annotate`: the reply beside the explanation, and a line that takes the kind."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from experiments.annotate import Annotation, Labels
from training.errors import KINDS, MEANINGS, ErrorKind, WrongReply
from ttc.media import encoded

KEYS: Mapping[str, ErrorKind] = {str(number): kind for number, kind in enumerate(KINDS, 1)}
HELP = "number of the first error's kind, then of what contributed: 1 or 1 4; s skip, b back, i images, ? kinds, q stop"


class Session:
    """One sitting of one annotator. Stops at the end, at `q`, and at the end of input; what was said is on disk by then."""

    def __init__(self, replies: Sequence[WrongReply], labels: Labels, console: Console, ask: Callable[[str], str]) -> None:
        """`ask` shows a prompt and returns a line; it raises EOFError or KeyboardInterrupt where the person leaves."""
        self._replies, self._labels, self._console, self._ask = replies, labels, console, ask
        self._given: list[WrongReply] = []
        """In this sitting, for `b`."""

    def run(self) -> int:
        """Ask about what has no label yet. Returns how many were given."""
        self._console.print(kinds_table())
        waiting = [reply for reply in self._replies if reply.id not in self._labels.by_id]
        labelled: set[str] = set()
        place = 0
        while place < len(waiting):
            self._show(waiting[place])
            said = self._said(waiting[place])
            if said == "q":
                break
            if said == "b":
                place = self._back(waiting, place)
                continue
            if isinstance(said, Annotation):
                self._labels.add(said)
                self._given.append(waiting[place])
                labelled.add(said.id)
            place += 1
        return len(labelled)

    def _back(self, waiting: Sequence[WrongReply], place: int) -> int:
        """Where the label given last was; here where none was given in this sitting."""
        if not self._given:
            self._console.print("no label was given in this sitting yet", style="yellow")
            return place
        return waiting.index(self._given.pop())

    def _said(self, reply: WrongReply) -> Annotation | str:
        """A label, or one of the keys `s`, `b` and `q`; asks again until it is one."""
        while True:
            try:
                line = self._ask("kind (? for help): ").strip().lower()
            except (EOFError, KeyboardInterrupt):
                return "q"
            if line in ("s", "b", "q"):
                return line
            if line == "i":
                for path in write_media(reply, self._labels.path.parent / "media"):
                    self._console.print(str(path), markup=False, highlight=False)
                continue
            words = line.split()
            if words and all(word in KEYS for word in words):
                kinds: list[ErrorKind] = list(dict.fromkeys(KEYS[word] for word in words))
                return Annotation(reply.id, reply.question.id, kinds[0], tuple(kinds[1:]))
            if line not in ("?", "h", "help", ""):
                self._console.print(f"{line!r} is none of the keys", style="yellow", markup=False)
            self._console.print(kinds_table())
            self._console.print(HELP, markup=False, highlight=False)

    def _show(self, reply: WrongReply) -> None:
        done = sum(one.id in self._labels.by_id for one in self._replies)
        self._console.rule(f"{done + 1} of {len(self._replies)}: {escape(reply.question.id)}")
        fields = ", ".join(f"{name}: {_text(value)}" for name, value in reply.question.fields.items())
        self._console.print(fields, style="dim", markup=False, highlight=False)
        self._console.print(reply.question.text, markup=False, highlight=False)
        for letter, option in zip(reply.question.letters, reply.question.options, strict=True):
            mark = "*" if letter in reply.gold.answers else " "
            self._console.print(f"{mark} {letter}. {option}", markup=False, highlight=False)
        beside = Table(box=box.SIMPLE_HEAD, expand=True, padding=(0, 1, 0, 0))
        answer = ", ".join(reply.answer.values) or f"none ({reply.answer.status})"
        beside.add_column(f"reply: {escape(answer)}", ratio=1, overflow="fold")
        beside.add_column(f"key: {escape(' or '.join(reply.gold.answers))}", ratio=1, overflow="fold")
        beside.add_row(escape(reply.text.strip()), escape(reply.gold.explanation.strip() or "(no explanation)"))
        self._console.print(beside)


def kinds_table() -> Table:
    """All kinds with their keys and meanings."""
    shown = Table(box=None, padding=(0, 1, 0, 0), show_header=False)
    for key, kind in KEYS.items():
        shown.add_row(key, kind.replace("_", " "), MEANINGS[kind], style="dim")
    return shown


def write_media(reply: WrongReply, into: Path) -> list[Path]:
    """The question's images and videos as files that a viewer opens."""
    into.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, media in enumerate(reply.question.media, 1):
        if media.problem:
            continue
        if media.path is not None:
            paths.append(media.path)
            continue
        data = encoded(media)
        ending = ".mp4" if media.kind == "video" else ".jpg" if data[:2] == b"\xff\xd8" else ".png"
        path = into / f"{media.sha256[:16]}_{number}{ending}"
        path.write_bytes(data)
        paths.append(path)
    return paths


def _text(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else ", ".join(value)
