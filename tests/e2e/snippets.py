"""The snippets of the documentation, and what the editors' tests share."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest
from tests.runtime.openai_server import Hang, Received, Reply, Step, serving
from tests.shared import SHARED

from merrow_analysis.check import analyse

ROOT = Path(__file__).resolve().parents[2]
BROKEN = """flowchart TD
    PROBLEM([Problem])
    A["Custom<br/>(role: solver)"]
    B[Check (twice)]
    RETURN([Return])
    class PROBLEM,RETURN Interface
    class A,B CustomOp
    PROBLEM --> A
    A --> B
    B --> RETURN
"""
BROKEN_CASES = """cases:
  - id: legs
    inputs: {PROBLEM: How many legs has an ant?}
    expect: [{numerc: 6}]
"""
CODE = "MW006"
REPAIRED = '    B["Check (twice)"]'
REPAIRED_FLOW = BROKEN.replace("B[Check (twice)]", REPAIRED.strip())

NESTED = """flowchart TD
    PROBLEM([Subject]):::Interface
    SPLIT@{ op: Custom, prompt: "Write three lines.", returns: "list[Text]" }
    subgraph LINES["Map (max: 9, parallel: 1)"]
        subgraph ROUNDS["Loop (max: 3)"]
            POLISH@{ op: Custom, prompt: "Make it better." }
        end
    end
    JOIN@{ op: Custom, prompt: "Put them together." }
    RETURN([Text]):::Interface
    PROBLEM -->|input| SPLIT
    SPLIT -->|each:input| POLISH
    POLISH -.->|again:input| POLISH
    POLISH -->|input| JOIN
    JOIN --> RETURN
    classDef Interface fill:#e2e2f2
"""


def nested_run(program: list[str], folder: Path, snippet_of: str, suffix: str) -> str:
    """What an editor prints that runs `NESTED` once to its end, and once until it is stopped in the middle."""
    file, setup = folder / "nested.mmd", folder / f"setup{suffix}"
    file.write_text(NESTED, encoding="utf-8")
    setup.write_text(snippet(snippet_of), encoding="utf-8")
    count = 0

    def answer(request: Received) -> Step:
        nonlocal count
        if "Write three lines" in request.prompt:
            return Reply('["one", "two", "three"]')
        count += 1
        # The first run makes ten calls here; in the second the sixth never ends: the second item's second turn.
        return Hang() if count == _WHOLE + 5 else Reply(f"line {count}", delay=0.2)

    with serving(answer) as server:
        return run(
            program,
            folder,
            MERROW_FILE=str(file),
            MERROW_SNIPPET=str(setup),
            OPENAI_API_KEY="sk-x",
            OPENAI_BASE_URL=server.base_url,
        )


def check_nested_run(printed: str) -> None:
    """The progress said which turn and item, the hints how many there were, and the second run was stopped."""
    assert "FIRST finished" in printed, printed
    assert "PROGRESS LINES[2]/ROUNDS[3]/POLISH, turn 3 of 3, " in printed, printed
    assert re.search(r"HINT 4 .*item 3 of 3", printed), printed
    assert re.search(r"HINT 5 .*turn 3 of 3", printed), printed
    assert "SECOND cancelled" in printed, printed
    assert "DONE" in printed


_WHOLE = 10
"""Calls of one run of `NESTED` besides the first: three lines, three turns each, and the last node."""


def check_defects(program: list[str], folder: Path, snippet_of: str, suffix: str) -> None:
    """The preferred action of the menu repairs each file of the corpus with one defect; it is the same in each editor."""
    corpus = SHARED / "corpus" / "mmd"
    defects = json.loads((ROOT / "tests" / "e2e" / "seeded_defects.json").read_text("utf-8"))
    placed = []
    for defect in defects:
        apart = defect["code"] == "MW301"
        file = folder / ("with_prompts" if apart else "defects") / defect["file"]
        file.parent.mkdir(exist_ok=True)
        shutil.copyfile(corpus / defect["file"], file)
        if apart:  # only where some prompts are given is one missing
            (file.parent / "prompt.py").write_text('WITH_PROMPT = "Work step by step."\n', "utf-8")
        placed.append(defect | {"file": str(file)})
    listed, setup = folder / "defects.json", folder / f"setup{suffix}"
    listed.write_text(json.dumps(placed), "utf-8")
    setup.write_text(snippet(snippet_of), encoding="utf-8")
    printed = run(program, folder, MERROW_DEFECTS=str(listed), MERROW_SNIPPET=str(setup))
    applied = [line.removeprefix("DONE ") for line in printed.splitlines() if line.startswith("DONE ")]
    assert applied == [defect["title"] for defect in defects]
    for defect in placed:
        assert analyse(Path(defect["file"]).read_text("utf-8")).is_valid, defect["file"]


def snippet(title: str, number: int = 0) -> str:
    """A fenced block below the heading ``title`` of docs/editors.md, the first one where no ``number`` is given."""
    text = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    section = re.split(rf"^## {title}$", text, flags=re.MULTILINE)[1]
    return re.findall(r"```\w+\n(.*?)```", section, re.DOTALL)[number]


def need(program: str, installation: str) -> str:
    """The path of an editor. Without it the test is skipped, but fails where everything must be tried."""
    path = shutil.which(program)
    if path is None:
        miss(f"{program} is not installed; {installation} installs it.")
    return path


def miss(sentence: str) -> NoReturn:
    """Something that the test needs isn't there."""
    if os.environ.get("CI") == "true":
        pytest.fail(sentence)
    pytest.skip(sentence)


def run(command: list[str], folder: Path, **variables: str) -> str:
    """Run an editor with an empty home; what it printed. Fails where it fails."""
    home = folder / "home"
    home.mkdir()
    environment = {
        **os.environ,
        "HOME": str(home),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        **{f"XDG_{name}_HOME": str(home / name.lower()) for name in ("STATE", "CACHE", "DATA", "CONFIG")},
        **variables,
    }
    done = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
    )
    printed = done.stdout + done.stderr
    if "is not installed" in printed:
        miss(printed.strip())
    assert done.returncode == 0, printed
    return printed
