"""What ``merrow run`` and ``merrow show`` print of turns and items, in a pipe and on a terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.make_replays import Script, scripts
from tests.patience import PATIENCE
from tests.runtime.openai_server import Received, Reply, Step, serving
from tests.server.program import Outcome, in_process, write

ROOT = Path(__file__).parents[2]
PATTERNS = {script.name: script for script in scripts() if script.workflow.startswith("patterns/")}
MAPPED = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    SPLIT["Custom<br/>(prompt: 'Split.', returns: 'list[Text]')"]
    subgraph PARTS["Map (max: 3)"]
        WORK["Custom<br/>(prompt: 'Work.')"]
    end
    RETURN([Answers]):::Interface
    PROBLEM -->|input| SPLIT
    SPLIT -->|each:input| WORK
    WORK --> RETURN
    classDef Interface fill:#eee
"""

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _a_state_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "MERROW_MODEL"):
        monkeypatch.delenv(name, raising=False)


def replayed(capsys: Capture, monkeypatch: pytest.MonkeyPatch, name: str) -> tuple[Outcome, str]:
    """What the replay of a pattern prints, and the id of the run."""
    monkeypatch.chdir(ROOT)
    script: Script = PATTERNS[f"patterns/{name}"]
    outcome = in_process(capsys, *script.command[1:])
    found = re.search(r"merrow show (\S+)", outcome.err)
    assert found is not None, outcome.err
    return outcome, found[1]


@pytest.mark.parametrize("name", ["self_refine", "tree_of_thoughts"])
def test_every_visit_that_begins_is_said_to_end_however_short_it_took(
    name: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = replayed(capsys, monkeypatch, name)[0].err.splitlines()
    begun = [line.removesuffix(" begins") for line in lines if line.endswith(" begins")]
    ended = [line.partition(" finished (")[0] for line in lines if " finished (" in line]
    assert len(begun) > 5
    assert sorted(ended) == sorted(begun)
    assert all(lines.index(f"{visit} begins") < lines.index(f"{visit} finished (0.0 s)") for visit in begun)


def test_one_visit_of_a_node_is_shown_with_the_names_of_the_others(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, run = replayed(capsys, monkeypatch, "debate")
    named = [f"ROUNDS[{turn}]/DEBATERS[{item}]/ARGUE" for turn in (1, 2) for item in (1, 2, 3)]
    others = f"one of 6 visits: {', '.join(named[:4])} and 2 more"
    last = in_process(capsys, "show", run, "--node", "ARGUE").out.splitlines()
    assert last[0].startswith(f"{named[5]}  finished")
    assert last[1] == others
    shown = in_process(capsys, "show", run, "--node", named[4]).out.splitlines()
    assert shown[0].startswith(f"{named[4]}  finished")
    assert "one of" not in "".join(in_process(capsys, "show", run, "--node", "JUDGE").out.splitlines()[:3])


def test_a_dry_run_says_that_it_shows_one_turn_only_where_there_are_turns(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    said = "Of each Loop the first turn is shown"
    assert said in in_process(capsys, "run", "examples/patterns/debate.mmd", "--dry-run").out
    assert said not in in_process(capsys, "run", "examples/patterns/routing.mmd", "--dry-run").out


def answer(request: Received) -> Step:
    if "Split." in request.prompt:
        return Reply('{"response": ["one", "two"]}')
    return Reply("the first part") if "one" in request.prompt else Reply("the second part", delay=1.5)


def test_the_words_of_items_that_are_streamed_at_once_stand_under_the_name_of_each(capsys: Capture) -> None:
    write("flow.mmd", MAPPED)
    with serving(answer) as server:
        ran = in_process(
            capsys, "run", "flow.mmd", "--input", "problem=x", "--base-url", server.base_url, "--verbose"
        ).err.splitlines()
    assert ran[ran.index("PARTS[1]/WORK:") + 1] == "the first part"
    assert ran[ran.index("PARTS[2]/WORK:") + 1] == "the second part"


@pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
def test_on_a_terminal_a_node_runs_as_long_as_one_of_its_items_does() -> None:
    import pty  # not on Windows

    write("flow.mmd", MAPPED)
    with serving(answer) as server:
        here, there = pty.openpty()
        command = ["run", "flow.mmd", "--input", "problem=x", "--base-url", server.base_url]
        process = subprocess.Popen(
            [sys.executable, "-m", "merrow_server", *command], stdin=there, stdout=there, stderr=there
        )
        os.close(there)
        shown = b""
        while True:
            try:
                shown += os.read(here, 4096)
            except OSError:  # the terminal is closed with the process
                break
        os.close(here)
    assert process.wait(PATIENCE) == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    drawn = re.findall(r"WORK +(\w+)[^\n]*\n(?:[^\n]*\n)*?PARTS +(\d) of 2 items", text)
    assert ("runs", "1") in drawn
    assert ("finished", "1") not in drawn
    assert drawn[-1] == ("finished", "2")
