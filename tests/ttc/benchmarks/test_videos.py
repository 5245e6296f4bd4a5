import hashlib
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ttc.benchmarks.videos import VideoCache
from ttc.media import load_images
from ttc.records import Clip, FrameRule

HOST = "127.0.0.1"


class Site(ThreadingHTTPServer):
    """Serves what `pages` says, in turn: status, body, headers; the last one for ever."""

    def __init__(self) -> None:
        super().__init__((HOST, 0), Handler)
        self.pages: dict[str, list[tuple[int, bytes, dict[str, str]]]] = {}
        self.hits: Counter[str] = Counter()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up on a body that is too large is what is wanted."""

    def url(self, path: str) -> str:
        return f"http://{HOST}:{self.server_port}{path}"


class Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        answers = self.server.pages[self.path]
        self.server.hits[self.path] += 1
        status, body, headers = answers.pop(0) if len(answers) > 1 else answers[0]
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def site():
    with Site() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path):
    return VideoCache(tmp_path / "cache", hosts=[HOST], max_bytes=1 << 20)


@pytest.fixture
def video(write_video) -> bytes:
    return write_video(frames=10).read_bytes()


def test_a_video_is_fetched_once_kept_by_content_and_shown(site, cache, video, tmp_path):
    site.pages = {"/a.mp4": [(200, video, {})], "/b.mp4": [(200, video, {})]}
    urls = [site.url("/a.mp4"), site.url("/b.mp4"), site.url("/a.mp4")]
    first = cache.videos(urls, fetch=True)
    again = VideoCache(tmp_path / "cache").videos(urls, fetch=False)
    assert first == again
    assert site.hits == {"/a.mp4": 1, "/b.mp4": 1}
    name = f"{hashlib.sha256(video).hexdigest()}.mp4"
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == [name, "index.jsonl"]
    assert len(load_images(Clip(again[urls[0]], FrameRule(frames=4)))) == 4


def test_a_404_page_is_no_video_and_is_tried_again_at_the_next_load(site, cache, video):
    site.pages = {"/a.mp4": [(404, b"<html>404</html>", {}), (200, video, {})]}
    url = site.url("/a.mp4")
    assert "HTTP status 404" in cache.videos([url], fetch=True)[url].problem
    assert cache.videos([url], fetch=True)[url].problem == ""


@pytest.mark.parametrize(
    ("body", "headers", "why"),
    [
        (b"<html>please log in</html>", {}, "not a video"),
        (b"", {}, "not a video"),
        (b"#EXTM3U\n#EXTINF:1,\nfile:///etc/hostname\n", {}, "not a video"),
        (bytes(1 << 21), {}, "larger than"),
        (b"short", {"Content-Length": "99999999999"}, "larger than"),
    ],
    ids=["page", "empty", "playlist", "large", "promised-large"],
)
def test_what_is_no_video_or_too_large_is_not_kept(site, cache, tmp_path, body, headers, why):
    site.pages = {"/a.mp4": [(200, body, headers)]}
    url = site.url("/a.mp4")
    assert why in cache.videos([url], fetch=True)[url].problem
    assert not (tmp_path / "cache/index.jsonl").exists()


def test_a_busy_server_is_asked_again(site, cache, video):
    site.pages = {"/a.mp4": [(503, b"", {"Retry-After": "0"}), (429, b"", {"Retry-After": "0"}), (200, video, {})]}
    url = site.url("/a.mp4")
    assert cache.videos([url], fetch=True)[url].problem == ""


def test_a_cut_transfer_is_not_kept(site, tmp_path, video):
    site.pages = {"/a.mp4": [(200, video[: len(video) // 2], {"Content-Length": str(len(video))})]}
    url = site.url("/a.mp4")
    cache = VideoCache(tmp_path / "cache", hosts=[HOST], tries=1)
    assert "cut off" in cache.videos([url], fetch=True)[url].problem
    assert not (tmp_path / "cache").exists()


def test_a_server_that_promises_no_length_cannot_pass_off_half_a_video(site, cache, write_video):
    whole = write_video("large.mp4", frames=30, size=(256, 256)).read_bytes()
    half = whole[: len(whole) * 9 // 10]
    site.pages = {"/a.mp4": [(200, half, {})]}
    url = site.url("/a.mp4")
    assert "cut off" in cache.videos([url], fetch=True)[url].problem


def test_only_named_hosts_are_asked(site, tmp_path):
    site.pages = {"/a.mp4": [(200, b"", {})]}
    strangers = [
        site.url("/a.mp4"),
        "file:///etc/hostname",
        "ftp://127.0.0.1/a.mp4",
        "http://[bad",
        "http://user@evil.test/a.mp4",
    ]
    found = VideoCache(tmp_path, hosts=["huggingface.co"]).videos(strangers, fetch=True)
    assert all("is not on huggingface.co" in found[url].problem for url in strangers)
    assert site.hits == {}


def test_a_killed_run_s_half_file_and_torn_line_count_for_nothing(site, cache, video, write_video, tmp_path):
    site.pages = {"/a.mp4": [(200, video, {})], "/b.mp4": [(200, write_video("b.mp4", step=2).read_bytes(), {})]}
    urls = [site.url("/a.mp4"), site.url("/b.mp4")]
    cache.videos(urls[:1], fetch=True)
    (file,) = (tmp_path / "cache").glob("*.mp4")
    file.write_bytes(video[:100])
    with (tmp_path / "cache/index.jsonl").open("a") as index:
        index.write('{"url": "http://x/y.mp4", "sha')
    assert cache.videos(urls, fetch=False)[urls[0]].problem
    cache.videos(urls, fetch=True)
    assert [media.problem for media in cache.videos(urls, fetch=False).values()] == ["", ""]


def test_an_index_cannot_name_a_file_outside_the_cache(cache, tmp_path, video):
    (tmp_path / "cache").mkdir()
    (tmp_path / "secret.mp4").write_bytes(video)
    (tmp_path / "cache/index.jsonl").write_text(f'{{"url": "u", "sha256": "../secret", "bytes": {len(video)}}}\n')
    assert cache.videos(["u"], fetch=False)["u"].problem
