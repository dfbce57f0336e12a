"""The commands of documents run as they are written there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.optimizer.suggestions.scripted import Model, candidate, prompt, said, setting
from tests.runtime.openai_server import OpenAIServer, serving

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def suggesting() -> Iterator[OpenAIServer]:
    """A scripted model on loopback: the only document that asks one is that of suggestions."""
    answers = said(
        candidate(prompt("Name the unknowns. Solve. Answer with the number.", "EQUATIONS"), title="Be short"),
        candidate(setting("samples", 2, "CAREFUL"), title="Ask twice"),
    )
    with serving(Model(answers, [said(candidate(prompt(f"Attempt {n}.", "EQUATIONS"))) for n in range(9)])) as server:
        yield server


def _searched(folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / "search.jsonl").read_text().splitlines()]
    assert {line["event"] for line in lines} >= {"search_started", "candidate", "draw", "search_finished"}


def _planned(folder: Path) -> None:
    assert (folder / "site" / "RETURN.md").exists()
    assert "14:00" in (folder / "party" / "index.html").read_text("utf-8")
    assert (folder / "party.mmd").read_text("utf-8") == (ROOT / "examples/plan/street_party.mmd").read_text("utf-8")
    assert "A page about bees" in (folder / "bees.mmd").read_text("utf-8")


def _suggested(folder: Path) -> None:
    assert "Solve. Answer with the number." in (folder / "flow.mmd").read_text("utf-8")
    assert json.loads((folder / "suggestions.json").read_text("utf-8"))["suggestions"]


@pytest.mark.skipif(sys.platform == "win32", reason="commands of a POSIX shell")
@pytest.mark.parametrize(
    ("name", "shown", "written"),
    [
        ("evaluating", ["3 items of sums.jsonl", "trick  wrong", "2 right, 1 wrong"], None),
        (
            "optimizing",
            [
                "20 items of sums.jsonl (part all) to search with, 10 set aside for the end.",
                "The budget of 120 answers is used up, except for what the held-out items need.",
            ],
            _searched,
        ),
        ("planning", ["calls: 3 to 12", "expected completed, simulated"], _planned),
        ("suggesting", ["3 to 19 calls to gpt-4o-mini", "1  Be short  (25.0 of 50)"], _suggested),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.thinned(24)
def test_the_commands_run(
    tmp_path: Path,
    request: pytest.FixtureRequest,
    name: str,
    shown: list[str],
    written: Callable[[Path], None] | None,
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    script = "\n".join(re.findall(r"^```sh\n(.*?)^```", (ROOT / f"docs/{name}.md").read_text("utf-8"), re.M | re.S))
    (tmp_path / "merrow").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m merrow_server "$@"\n')
    (tmp_path / "merrow").chmod(0o755)
    environment = {
        **os.environ,
        "MERROW_STATE_DIR": str(tmp_path / "state"),
        "MERROW_CONFIG_DIR": str(tmp_path / "config"),
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
    }
    if name == "suggesting":
        environment |= {"OPENAI_BASE_URL": request.getfixturevalue(name).base_url, "OPENAI_API_KEY": "sk-test"}
    done = subprocess.run(
        ["sh", "-eu"],
        input=script,
        text=True,
        capture_output=True,
        cwd=tmp_path,
        env=environment,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [text for text in shown if text not in done.stdout] == []
    if written is not None:
        written(tmp_path)
