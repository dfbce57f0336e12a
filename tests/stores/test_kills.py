"""Runs that keep texts are killed at any moment: each text is kept once, in its order."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from tests.patience import PATIENCE
from tests.sizes import sized
from tests.stores.flows import flow

from merrow_runtime.documents.kept_store import KeptStore
from merrow_runtime.store.database import Store

TEXTS = 12
ROW = flow(
    "lessons: {keep: 100}",
    *(f"A{number}@{{ op: Assemble, how: concat }}" for number in range(1, TEXTS)),
    *(f"K{number}@{{ op: Remember, store: lessons }}" for number in range(TEXTS)),
    "PROBLEM -->|text| K0",
    *(f"K{number - 1} & PROBLEM -->|results| A{number}" for number in range(1, TEXTS)),
    *(f"A{number} -->|text| K{number}" for number in range(1, TEXTS)),
    f"K{TEXTS - 1} --> RETURN",
)
"""Each text is the one before it with another line."""


def begun(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "merrow_server", *arguments]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def rows(folder: Path) -> list[int]:
    store = KeptStore("lessons", folder / "state/stores")
    try:
        return [one.row for one in store.listed()]
    finally:
        store.close()


@pytest.mark.parametrize("seed", range(sized(1, 3)))
def test_a_text_is_kept_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.delenv("MERROW_JOURNAL", raising=False)
    (tmp_path / "flow.mmd").write_text(ROW)
    random = Random(seed)
    process = begun(tmp_path, "run", "flow.mmd", "--input", "PROBLEM=x", "--base-url", "offline")
    for _ in range(sized(1, 5)):
        wanted = len(rows(tmp_path)) + random.choice((1, 1, 2))
        end = time.monotonic() + PATIENCE
        while process.poll() is None and len(rows(tmp_path)) < wanted and time.monotonic() < end:
            time.sleep(0.001)
        time.sleep(random.choice((0, 0, 0.002, 0.005)))
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
        store = Store.open()
        run = store.runs(1)[0].id
        store.close()
        process = begun(tmp_path, "resume", run, "--base-url", "offline")
    assert process.wait(PATIENCE) == 0
    # A row is never given twice.
    assert rows(tmp_path) == list(range(1, TEXTS + 1))
