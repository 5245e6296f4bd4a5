"""Where rows come from: the hub or a local folder, parquet or JSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ttc.errors import UserError

Row = Mapping[str, object]

_BATCH_ROWS = 64


def hub_folder(repository: str, revision: str, patterns: Sequence[str]) -> tuple[Path, str]:
    """The hub's own files of a data set in the local cache, and the commit they are of.

    The files themselves, and not `datasets.load_dataset`: so that hub and local folder are one code path, the commit is known,
    and images stay encoded. Works without a network where the files are cached.

    Raises:
        UserError: no such repository or revision, or no network and no cached copy.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        folder = snapshot_download(repository, repo_type="dataset", revision=revision, allow_patterns=list(patterns))
    except (HfHubHTTPError, OSError, ValueError) as error:
        reason = str(error).strip().split("\n")[0]
        raise UserError(
            f"data set {repository} at revision {revision!r} cannot be had from the hub ({reason}); "
            "connect, or give `path`, a local folder with the same files"
        ) from error
    return Path(folder), Path(folder).name


def shards(folder: Path, split: str) -> list[Path]:
    """The split's parquet files in order, `<split>-00000-of-00002.parquet` and so on; empty where there are none.

    Raises:
        UserError: some of them are missing.
    """
    files = sorted(folder.glob(f"{split}-*.parquet"))
    promised = files[0].stem.rpartition("-of-")[2] if files else "0"
    if promised.isdigit() and int(promised) != len(files):
        raise UserError(f"{folder}: {len(files)} of {int(promised)} parquet files of split {split!r} are there; fetch the rest")
    return files


def parquet_rows(files: Sequence[Path]) -> Iterator[Row]:
    """Rows of parquet files, in order; images stay encoded.

    Raises:
        UserError: a file cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    for file in files:
        try:
            with pq.ParquetFile(file) as table:
                for batch in table.iter_batches(batch_size=_BATCH_ROWS):
                    yield from batch.to_pylist()
        except (pa.ArrowInvalid, OSError) as error:
            raise UserError(f"{file}: not a parquet file that can be read ({error}); fetch it again") from error


def json_rows(file: Path) -> list[Row]:
    """Rows of a JSON array, or of a file with one JSON object a line.

    Raises:
        UserError: missing, not JSON, or not objects.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: cannot be read ({error}); give the path of a JSON or JSON lines file") from error
    if file.suffix == ".jsonl":
        # not splitlines(), which also splits at the separators that JSON texts may hold
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        parsed: object = [_parsed(line, f"{file}, line {number}") for number, line in lines]
    else:
        parsed = _parsed(text, str(file))
    rows: list[Row] = [row for row in parsed if isinstance(row, dict)] if isinstance(parsed, list) else []
    if not isinstance(parsed, list) or len(rows) < len(parsed):
        raise UserError(f"{file}: not a list of JSON objects; give a file with one object for each question")
    return rows


def _parsed(text: str, where: str) -> object:
    try:
        parsed = json.loads(text)
        if "\\ud" in text or "\\uD" in text:
            json.dumps(parsed, ensure_ascii=False).encode()  # half of a surrogate pair is JSON, but no text
        return parsed
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: not JSON ({error}); fetch the file again, or mend the line") from error
