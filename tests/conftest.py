"""Fixtures for all tests: released data where it is present, one thread for tiny models."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

SHARED = Path(os.environ.get("TTC_SHARED", Path(__file__).parents[2] / "shared"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of released data; tests that read it skip where it is absent, or fail where it is required."""
    if not (SHARED / "data").is_dir():
        if os.environ.get("TTC_REQUIRE_SHARED"):
            pytest.fail(f"TTC_REQUIRE_SHARED is set, but there is no released data at {SHARED}")
        pytest.skip(f"no released data at {SHARED}; set TTC_SHARED to a folder that has it")
    return SHARED
