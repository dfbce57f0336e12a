"""Evaluations of workflows with tools, on workers: each calls tools by its own settings."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.server.program import Outcome, merrow, write
from tests.server.workers.cluster import Shared
from tests.tools.mailer import TOOLS
from tests.tools.mails import MAILER
from tests.tools.test_unattended import FAKES, ITEMS, LETTERS

from merrow_analysis.tools.pins import NO_PINS, PINS_FILE, pinned

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="processes of POSIX"),
    pytest.mark.slow,
    pytest.mark.parametrize("team", ["file"], indirect=True),
]
DATA = ("--dataset", "items.jsonl", "--gold", "answer", "--metric", "numeric")


def prepared(at: Shared, *lines: str, place: str = "config") -> None:
    write("letters.mmd", LETTERS)
    write("items.jsonl", "".join(json.dumps(item) + "\n" for item in ITEMS))
    write("fakes.py", FAKES)
    write(PINS_FILE, NO_PINS.with_tools([pinned("mail", tool) for tool in TOOLS]).text())
    config = at.folder / place
    config.mkdir(exist_ok=True)
    command = json.dumps([sys.executable, str(MAILER), str(at.folder / "mails")])
    (config / "config.toml").write_text("\n".join(("[servers.mail]", f"command = {command}", *lines, "")))


def evaluated(at: Shared, *more: str) -> Outcome:
    spread = ("--engine", "dask", "--scheduler", at.cluster.address)
    return merrow("evaluate", "letters.mmd", *DATA, *spread, "--fresh", *more, "--format", "json")


def statuses(done: Outcome) -> list[str]:
    assert done.code == 0, done.err
    return sorted(row["status"] for row in done.json["rows"])


def test_workers_call_tools_or_functions_in_their_place(at: Shared) -> None:
    prepared(at, "allow = true", "repeatable = true")
    assert statuses(evaluated(at)) == ["right"] * 3
    assert statuses(evaluated(at, "--fake-tools", "fakes.py")) == ["failed", "right", "right"]


def test_workers_that_may_not_call_the_tool_are_refused_by_its_name(
    at: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared(at, "allow = true")  # What the workers have.
    prepared(at, "allow = true", "repeatable = true", place="own")
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(at.folder / "own"))
    started = Path(at.folder / "mails.starts")
    before = started.read_text() if started.exists() else ""
    done = evaluated(at)
    assert done.code == 1
    assert "No worker can be used" in done.err
    assert "mail.count" in done.err
    assert (started.read_text() if started.exists() else "") == before
