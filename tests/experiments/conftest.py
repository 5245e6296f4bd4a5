"""The command line in this process, and small copies of the three data sets in their own schemas."""

import io
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from experiments import cli
from ttc.benchmarks.videos import VideoCache

Row = dict[str, object]
LEVELS = ("Easy", "Medium", "Hard")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def ttc(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """`ttc("run", "config.yaml", ...)`, as typed, in a wide terminal."""

    def command(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["ttc", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "400")
        with pytest.raises(SystemExit) as end:
            cli.main()
        shown = capsys.readouterr()
        return Ended(int(end.value.code or 0), shown.out, shown.err)

    return command


class LocalHub:
    """Writes data sets below a folder as they lie on the hub."""

    def __init__(self, root: Path, videos: Mapping[str, Path]) -> None:
        self.root, self.cache = root, root / "videos"
        self._videos = videos

    def for_config(self, name: str) -> list[str]:
        """Overrides that let a config of `configs/runs` read a small copy of its data set."""
        if name.startswith("mmvu"):
            return self.mmvu([self.mmvu_row(name.partition("_")[2], number) for number in range(4)], name.partition("_")[2])
        if name.startswith("mmmu_pro"):
            return self.mmmu_pro({"standard10": 10, "standard4": 4, "vision": 10}[name.rpartition("_")[2]], "vision" in name)
        split = name.partition("_")[2]
        self.mmmu(self.mmmu_rows(split, "Art_Theory"), split, "Art_Theory")
        return self.mmmu(self.mmmu_rows(split, "Math"), split, "Math")

    def mmmu(self, rows: Iterable[Row], split: str = "validation", subject: str = "Art_Theory") -> list[str]:
        """One subject's file."""
        self._parquet(self.root / "MMMU" / subject / f"{split}-00000-of-00001.parquet", rows)
        return [f"benchmark.path={self.root / 'MMMU'}"]

    def mmmu_rows(self, split: str, subject: str) -> list[Row]:
        """Images in options, out of order and repeated; an open question; braces. Each subject has images of its own."""
        own = 10 * (subject == "Math")
        hidden = {"answer": "?"} if split == "test" else {}
        shuffled: Row = {"question": "<image 1> or <image 1>?", "options": "['<image 3>', '<image 2>']"}
        shuffled |= {f"image_{number}": self.png(own + number) for number in (1, 2, 3)}
        opened: Row = {"question_type": "open", "options": "[]", "answer": "1/64"}
        rows = [{"image_1": self.png(own + 1)} | row for row in ({}, shuffled, opened)]
        return [
            self.mmmu_row(id=f"{split}_{subject}_{number}", topic_difficulty=LEVELS[number], **row | hidden)
            for number, row in enumerate(rows)
        ]

    def mmmu_row(self, **columns: object) -> Row:
        """A sound row of MMMU, but for the columns given."""
        sound: Row = {
            "id": "validation_Art_Theory_1",
            "question": "What does <image 1> show?",
            "options": "['a cat', 'a dog', 'a {brace}']",
            "explanation": "It barks.",
            "answer": "B",
            "img_type": "['Paintings', 'Photographs']",
            "topic_difficulty": "Easy",
            "question_type": "multiple-choice",
            "subfield": "Comparative Art",
            "image_1": self.png(1),
        }
        return sound | columns

    def mmmu_pro(self, options: int, vision: bool) -> list[str]:
        """Three rows without question type and subfield; in the vision setting without question and numbered images too."""
        rows = []
        for number, level in enumerate(LEVELS):
            row = self.mmmu_row(id=f"test_Music_{number}", topic_difficulty=level, subject="Music", explanation="?")
            row |= {"options": repr([f"tune {place}" for place in range(options)]), "answer": "D"}
            left_out = {"question_type", "subfield", *(("question", "image_1") if vision else ())}
            row |= {"image": self.png(number)} if vision else {"image_1": self.png(number)}
            rows.append({name: value for name, value in row.items() if name not in left_out})
        setting = "vision" if vision else f"standard ({options} options)"
        self._parquet(self.root / "MMMU_Pro" / setting / "test-00000-of-00001.parquet", rows)
        return [f"benchmark.path={self.root / 'MMMU_Pro'}"]

    def mmvu(self, rows: Iterable[Row], split: str = "validation") -> list[str]:
        """The released JSON, and videos in the cache as if fetched."""
        for url, file in self._videos.items():
            VideoCache(self.cache).add(url, file.read_bytes())
        folder = self.root / "MMVU"
        folder.mkdir()
        (folder / f"{split}.json").write_text(json.dumps(list(rows)), encoding="utf-8")
        return [f"benchmark.path={folder}", f"benchmark.videos={self.cache}", "benchmark.fetch=false"]

    def mmvu_row(self, split: str = "validation", number: int = 0, **columns: object) -> Row:
        """A sound row of MMVU, but for the columns given; odd ones are open, and two in a row share a video."""
        opened = number % 2
        sound: Row = {
            "id": f"{split}_{number}",
            "video": list(self._videos)[number // 2 % len(self._videos)],
            "youtube_url": "",
            "question_type": "open-ended" if opened else "multiple-choice",
            "metadata": {"subject": ("Art", "Chemistry")[opened], "textbook": "", "rationale": "So.", "knowledge": []},
            "question": f"What happens in scene {number}?",
            "choices": dict.fromkeys("ABCDE", "") if opened else dict(zip("ABCDE", "abcde", strict=True)),
            "answer": "" if split == "test" else ("fusion" if opened else "C"),
        }
        return sound | columns

    @staticmethod
    def png(number: int) -> bytes:
        """A small image, another one for every number."""
        buffer = io.BytesIO()
        Image.new("RGB", (56, 28), (number * 40 % 256, 90, 200)).save(buffer, "PNG")
        return buffer.getvalue()

    @staticmethod
    def _parquet(file: Path, rows: Iterable[Row]) -> None:
        """Every column is text, but for the images, which are structs of bytes and a name."""
        rows = list(rows)
        struct = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        columns = {}
        for name in dict.fromkeys(name for row in rows for name in row):
            cells = [row.get(name) for row in rows]
            if name.startswith("image"):
                images = [None if cell is None else {"bytes": cell, "path": f"{name}.png"} for cell in cells]
                columns[name] = pa.array(images, struct)
            else:
                columns[name] = pa.array(cells, pa.string())
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), file)


@pytest.fixture
def hub(tmp_path: Path, write_video: Callable[..., Path]) -> LocalHub:
    clips = {f"https://videos.test/Art/{step}.mp4": write_video(f"{step}.mp4", frames=40, step=step) for step in (1, 3)}
    return LocalHub(tmp_path / "hub", clips)
