"""The report in a real browser: what its scripts draw, and that they do it without a word of complaint."""

import re
import shutil
import subprocess
from html import unescape

import pytest
import yaml
from typer.testing import CliRunner

from experiments import report
from experiments.cli import app

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium here")

PROBE = """
const said = [];
for (const input of document.querySelectorAll("input[name=axis]")) {
  if (input.disabled) continue;
  input.click();
  const rows = (host) => document.querySelectorAll(`[${host}] tbody tr`).length;
  const note = document.querySelector("[data-kind=gap] figcaption span");
  said.push([input.value, rows("data-areas"), rows("data-matched"), note ? note.textContent : "none"].join("; "));
}
document.body.prepend(page.element("pre", { id: "probe" }, said.join("\\n")));
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A line per axis that can be chosen, from a page with prices and speeds; then what the browser's console said."""
    folder = tmp_path_factory.mktemp("page")
    probe, page = folder / "probe.js", folder / "page.html"
    probe.write_text(PROBE, encoding="utf-8")
    content = {
        "benchmark": {"kind": "pocket", "split": "validation"},
        "backend": {"kind": "scripted", "replies": ["Answer: A", "so it is B. Answer: B", "no idea"], "pick": "seeded"},
        "strategies": [{"kind": "direct"}, {"kind": "vote", "n": 4}, {"kind": "adaptive_vote", "n": 4}],
        "limit": 30,
        "bank": str(folder / "bank"),
        "costs": {"prices": {"input": 1, "output": 4}, "throughput": {"completion": 1000}, "speed": {"completion": 50}},
    }
    (folder / "run.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "SCRIPTS", (*report.SCRIPTS, str(probe)))
        done = CliRunner().invoke(app, ["run", str(folder / "run.yaml"), "--out", str(folder / "out")])
    assert done.exit_code == 0, done.output
    page = folder / "out/report.html"
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    command += ["--enable-logging=stderr", "--virtual-time-budget=2000", "--dump-dom", page.as_uri()]
    opened = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    shown = re.search(r'<pre id="probe">(.*?)</pre>', opened.stdout, re.DOTALL)
    assert shown, opened.stderr
    return [*unescape(shown[1]).splitlines(), *(line for line in opened.stderr.splitlines() if "CONSOLE" in line)]


def test_every_known_axis_can_be_chosen_and_moves_figures_areas_and_gaps(said):
    chosen = {line.partition(";")[0]: line.split("; ")[1:] for line in said}
    assert list(chosen) == [
        "samples",
        "completion_tokens",
        "total_tokens",
        "money",
        "device_seconds",
        "path_tokens",
        "path_seconds",
    ]
    assert chosen["samples"] == ["2", "0", "accuracy points, equal k"]
    assert chosen["money"] == ["2", "2", "accuracy points, equal money (USD)"]
