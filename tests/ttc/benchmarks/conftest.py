"""Small data sets in the hub's schemas."""

import io
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

WriteMMMU = Callable[..., Path]

_TEXT_COLUMNS = (
    "id",
    "question",
    "options",
    "explanation",
    "answer",
    "img_type",
    "topic_difficulty",
    "question_type",
    "subfield",
)
_IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


@pytest.fixture(scope="session")
def png() -> Callable[[int], bytes]:
    """A tiny image, another one for every number."""

    def write(number: int) -> bytes:
        buffer = io.BytesIO()
        Image.new("RGB", (3, 2), (number % 256, number // 256, 7)).save(buffer, "PNG")
        return buffer.getvalue()

    return write


@pytest.fixture
def write_mmmu(tmp_path: Path) -> WriteMMMU:
    """Writes rows as one subject's parquet file in MMMU's schema; every column but the images is text, as on the hub.

    Rows hold texts by column name and encoded images under `image_1` to `image_7`.
    """

    def write(
        rows: Iterable[Mapping[str, object]],
        *,
        subject: str = "Art_Theory",
        split: str = "validation",
        root: Path | None = None,
    ) -> Path:
        root = root or tmp_path / "MMMU"
        rows = list(rows)
        columns = {name: pa.array([row.get(name) for row in rows], pa.string()) for name in _TEXT_COLUMNS}
        for marker in range(1, 8):
            images = [row.get(f"image_{marker}") for row in rows]
            structs = [None if image is None else {"bytes": image, "path": f"../../image_{marker}.png"} for image in images]
            columns[f"image_{marker}"] = pa.array(structs, _IMAGE)
        (root / subject).mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), root / subject / f"{split}-00000-of-00001.parquet")
        return root

    return write


@pytest.fixture(scope="session")
def row() -> Callable[..., dict[str, object]]:
    """A sound multiple-choice row of MMMU, but for the columns given."""

    def make(**columns: object) -> dict[str, object]:
        sound: dict[str, object] = {
            "id": "validation_Art_Theory_1",
            "question": "What is <image 1>?",
            "options": "['a cat', 'a dog']",
            "explanation": "",
            "answer": "B",
            "img_type": "['Paintings']",
            "topic_difficulty": "Easy",
            "question_type": "multiple-choice",
            "subfield": "Comparative Art",
        }
        return sound | columns

    return make
