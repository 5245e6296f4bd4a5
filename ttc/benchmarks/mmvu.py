"""MMVU: expert questions about videos, with a rationale and sources for each (Zhao et al. 2025, arXiv:2501.12380)."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from ttc.benchmarks.exams import seal
from ttc.benchmarks.files import Row, hub_folder, json_rows, parquet_rows, shards
from ttc.benchmarks.mojibake import is_lossy, repaired
from ttc.benchmarks.tables import MMVU_DISCIPLINES, discipline_of
from ttc.benchmarks.videos import NOT_THERE, VideoCache
from ttc.errors import UserError
from ttc.media import media_from_file
from ttc.records import LETTERS, Exam, Gold, Media, Question, QuestionType

_REMOTE = re.compile(r"https?://", re.IGNORECASE)


class MMVU(BaseModel, frozen=True, extra="forbid"):
    """MMVU from the hub or from its released JSON file, with its videos in a cache."""

    kind: Literal["mmvu"] = "mmvu"
    split: Literal["validation", "test"] = "validation"
    """Golds of `test` are hidden."""
    path: Path | None = None
    """The released JSON file, or a folder that holds it as `<split>.json` or as parquet; None for the hub."""
    repository: str = "yale-nlp/MMVU"
    """Name on the hub."""
    revision: str = "main"
    """Branch, tag or commit on the hub; pin the commit that a run recorded."""
    videos: Path = Path("~/.cache/ttc/videos")
    """Cache of videos, shared by all runs."""
    fetch: bool = False
    """Get the videos that are not in the cache. Without it, questions about them are loaded and cannot be asked."""
    hosts: tuple[str, ...] = ("huggingface.co",)
    """Hosts that videos may come from, whatever addresses the data name; they may redirect."""
    max_video_bytes: int = Field(default=1 << 28, gt=0)
    """Larger videos are not fetched."""

    def load(self) -> Exam:
        """Read and check the data.

        Raises:
            UserError: no such file or revision, or rows that are not MMVU's.
        """
        if self.path is None:
            source, revision = hub_folder(self.repository, self.revision, [f"*{self.split}.json", f"*{self.split}-*.parquet"])
        else:
            source, revision = self.path.expanduser(), "local"
        rows = [_checked(row, source) for row in self._rows(source)]
        media = self._media(rows, source if source.is_dir() else source.parent)
        absent = sum(media[video].problem.startswith(NOT_THERE) for video in media)
        problems = [f"{absent} of {len(media)} videos are not in {self.videos}; `fetch: true` gets them"] if absent else []
        questions = [self._question(row, media[str(row["video"])], problems) for row in rows]
        golds = [_gold(row, question, problems) for row, question in zip(rows, questions, strict=True)]
        return seal(self.kind, self.split, questions, golds, revision=revision, problems=problems)

    def _rows(self, source: Path) -> list[Row]:
        if not source.is_dir():
            return json_rows(source)
        if files := sorted(source.rglob(f"{self.split}.json")):
            return json_rows(files[0])
        if files := sorted(source.rglob(f"{self.split}-*.parquet")):
            return list(parquet_rows(shards(files[0].parent, self.split)))
        raise UserError(f"{source}: no {self.split}.json and no {self.split}-*.parquet below it; check the path and the split")

    def _media(self, rows: list[Row], root: Path) -> dict[str, Media]:
        """By what the rows call their video: an address, or a file below the data's own folder."""
        names = dict.fromkeys(str(row["video"]) for row in rows)
        remote = [name for name in names if _REMOTE.match(name)]
        cache = VideoCache(self.videos, hosts=self.hosts, max_bytes=self.max_video_bytes)
        local = {name: media_from_file(name, root=root, kind="video") for name in names if not _REMOTE.match(name)}
        return {**local, **cache.videos(remote, fetch=self.fetch)}

    def _question(self, row: Row, media: Media, problems: list[str]) -> Question:
        id, subject = str(row["id"]), str(_metadata(row).get("subject") or "").strip()
        kind: QuestionType = "multiple-choice" if row.get("question_type") == "multiple-choice" else "open"
        discipline = discipline_of(subject, MMVU_DISCIPLINES)
        fields = {"subject": subject, "discipline": discipline, "question_type": kind}
        options = _options(row.get("choices")) if kind == "multiple-choice" else ()
        if not discipline:
            problems.append(f"{id}: subject {subject!r} is in no discipline")
        if kind == "multiple-choice" and not options:
            problems.append(f"{id}: is multiple choice without any option")
        if media.problem and not media.problem.startswith(NOT_THERE):
            problems.append(f"{id}: {media.problem}")
        return Question(
            id=id,
            benchmark=self.kind,
            question_type=kind,
            text=str(row["question"]),
            options=options,
            media=(media,),
            fields={name: value for name, value in fields.items() if value},
            cluster=str(row["video"]),
            source=str(row.get("youtube_url") or "").strip(),
        )


def _checked(row: Row, source: Path) -> Row:
    """Raises UserError for a row without what every row of MMVU has."""
    if not all(isinstance(row.get(name), str) and row[name] for name in ("id", "question", "video")) or not _metadata(row):
        raise UserError(f"{source}: row {str(row)[:80]!r} lacks id, question, video or metadata; give MMVU's released file")
    return row


def _metadata(row: Row) -> Mapping[str, object]:
    metadata = row.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


def _options(choices: object) -> tuple[str, ...]:
    """Texts in the order of their letters; the released rows have five each, five empty ones for an open question."""
    if not isinstance(choices, Mapping):
        return ()
    texts = [str(choices.get(letter) or "") for letter in LETTERS]
    while texts and not texts[-1]:
        texts.pop()
    return tuple(texts)


def _gold(row: Row, question: Question, problems: list[str]) -> Gold:
    metadata = _metadata(row)
    rationale = repaired(str(metadata.get("rationale") or ""))
    if is_lossy(rationale):
        problems.append(f"{question.id}: rationale has lost characters that cannot be restored")
    sources = metadata.get("knowledge")
    knowledge = tuple(map(str, sources)) if isinstance(sources, list) else ()
    answer = str(row.get("answer") or "").strip()
    if question.question_type == "open":
        return Gold(question.id, synonyms(answer) if answer else (), rationale, knowledge)
    if answer and answer not in question.letters:
        problems.append(f"{question.id}: gold {answer!r} is not among the letters {question.letters!r}")
    return Gold(question.id, (answer,) if answer else (), rationale, knowledge)


def synonyms(answer: str) -> tuple[str, ...]:
    """An open gold and, where it ends in a bracket after a blank, what stands before it and what the bracket puts in its place.

    `Depth-First Search (DFS)` is also `Depth-First Search` and `DFS`. After a preposition the bracket replaces one word only:
    `center of gravity (mass)` is also `center of gravity` and `center of mass`.
    """
    match = re.fullmatch(r"(.*\S)\s+\(([^()]+)\)", answer)
    if match is None:
        return (answer,)
    outer, inner = match[1], match[2].strip()
    head = re.fullmatch(r"(.*\s(?:of|in|on|for|to|with|by)\s+)\S+", outer)
    return (answer, outer, f"{head[1]}{inner}" if head and " " not in inner else inner)
