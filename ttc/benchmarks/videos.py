"""Videos by address: fetched once, checked, and kept under the hash of their content."""

import hashlib
import json
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from ttc.errors import MediaError
from ttc.frames import check_video
from ttc.records import Media

_CHUNK_BYTES = 1 << 20
_PARALLEL = 8

NOT_THERE = "not fetched yet"
"""How the problem of a video begins that nobody has asked for."""


class VideoCache:
    """A folder of videos: `<sha256>.mp4` each, and `index.jsonl`, which says for each address what was found there.

    No file name is ever made from an address. A line of the index is written after its file is complete, so a killed run leaves
    at worst a file that nothing points to. Several processes may share one folder.
    """

    def __init__(
        self,
        folder: Path,
        *,
        hosts: Iterable[str] = (),
        max_bytes: int = 1 << 28,
        timeout_seconds: float = 30,
        deadline_seconds: float = 900,
        tries: int = 3,
    ) -> None:
        """Nothing is fetched from hosts other than `hosts`, though these may redirect."""
        self._folder = folder.expanduser()
        self._hosts = frozenset(hosts)
        self._max_bytes = max_bytes
        self._timeout_seconds = timeout_seconds
        self._deadline_seconds = deadline_seconds
        self._tries = tries

    def videos(self, urls: Iterable[str], *, fetch: bool) -> dict[str, Media]:
        """Media for each distinct address; with a `problem` for those that are not there and cannot be had.

        Args:
            fetch: get what is not there, up to eight at a time; what failed before is tried again.
        """
        wanted = list(dict.fromkeys(urls))
        kept = self._kept()
        missing = [url for url in wanted if url not in kept]
        if not fetch:
            unfetched = {url: _unusable(f"{NOT_THERE}: {url}; set `fetch: true` to get it") for url in missing}
            return {**kept, **unfetched}
        from rich.console import Console
        from rich.progress import track

        with ThreadPoolExecutor(_PARALLEL) as pool:
            media = track(
                pool.map(self._fetched, missing),
                "fetching videos",
                total=len(missing),
                console=Console(stderr=True),
                disable=not missing,
            )
            return {**kept, **dict(zip(missing, media, strict=True))}

    def add(self, url: str, data: bytes) -> Media:
        """Keep a video as what lies at `url`.

        Raises:
            MediaError: it is not a whole video.
        """
        check_video(data)
        sha256 = hashlib.sha256(data).hexdigest()
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{sha256}.mp4"
        with tempfile.NamedTemporaryFile(dir=self._folder, suffix=".part", delete=False) as file:
            file.write(data)
        Path(file.name).replace(path)
        line = json.dumps({"url": url, "sha256": sha256, "bytes": len(data)})
        # one short write, so that processes never mix lines; the first newline ends a line that a killed run left torn
        with self._index.open("a", encoding="utf-8") as index:
            index.write(f"\n{line}\n")
        return Media("video", 0, sha256, path=path)

    @property
    def _index(self) -> Path:
        return self._folder / "index.jsonl"

    def _kept(self) -> dict[str, Media]:
        """What the index names and the folder holds, whole. Content is hashed again when it is decoded, not here."""
        try:
            lines = self._index.read_text(encoding="utf-8").split("\n")
        except FileNotFoundError:
            return {}
        kept: dict[str, Media] = {}
        for line in lines:
            entry = _entry(line)
            if entry is None:
                continue
            path = self._folder / f"{entry['sha256']}.mp4"
            if path.is_file() and path.stat().st_size == entry["bytes"]:
                kept[str(entry["url"])] = Media("video", 0, str(entry["sha256"]), path=path)
        return kept

    def _fetched(self, url: str) -> Media:
        if not self._allowed(url):
            allowed = " or ".join(sorted(self._hosts)) or "any host"
            return _unusable(f"not fetched: {url} is not on {allowed}; see `hosts`")
        why, wait_seconds = "", 0.0
        for attempt in range(self._tries):
            time.sleep(wait_seconds)
            wait_seconds = 2.0**attempt
            try:
                return self.add(url, self._download(url))
            except urllib.error.HTTPError as error:
                with error:
                    why = f"HTTP status {error.code}"
                    if error.code not in (408, 429) and error.code < 500:
                        break
                    wait_seconds = _asked_seconds(error.headers.get("Retry-After"), otherwise=wait_seconds)
            except MediaError as error:
                why = str(error)
                break
            except (OSError, HTTPException, ValueError) as error:
                why = f"{type(error).__name__}: {error}"
        return _unusable(f"fetching {url} failed ({why}); it is tried again at the next load")

    def _allowed(self, url: str) -> bool:
        try:
            parts = urlsplit(url)
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and parts.hostname in self._hosts

    def _download(self, url: str) -> bytes:
        """The body, whole. Raises MediaError above the size limit, TimeoutError past the deadline, OSError where it is cut."""
        give_up = time.monotonic() + self._deadline_seconds
        body = bytearray()
        request = urllib.request.Request(url, headers={"User-Agent": "ttc"})
        with urllib.request.urlopen(request, timeout=self._timeout_seconds) as response:
            promised = int(response.headers.get("Content-Length") or 0)
            while chunk := response.read1(_CHUNK_BYTES):
                body += chunk
                if max(len(body), promised) > self._max_bytes:
                    raise MediaError(f"larger than {self._max_bytes} bytes")
                if time.monotonic() > give_up:
                    raise TimeoutError(f"not done after {self._deadline_seconds:.0f} seconds")
        if len(body) < promised:
            raise OSError(f"cut off after {len(body)} of {promised} bytes")
        return bytes(body)


def _entry(line: str) -> Mapping[str, object] | None:
    """One line of the index; None for a torn one, or one whose hash could name another file."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    if not isinstance(entry, dict) or not {"url", "sha256", "bytes"} <= entry.keys():
        return None
    digits = str(entry["sha256"])
    return entry if len(digits) == 64 and set(digits) <= set("0123456789abcdef") else None


def _asked_seconds(retry_after: str | None, *, otherwise: float) -> float:
    return min(float(retry_after), 60.0) if retry_after and retry_after.isdigit() else otherwise


def _unusable(problem: str) -> Media:
    return Media("video", 0, sha256="", problem=problem)
