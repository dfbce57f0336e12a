"""Workflows found by their paths: blocks of Markdown, files they name, settings around them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.runtime.engine.fakes import FakeEndpoint, flowchart

import merrow_runtime
from merrow_runtime import UsageFailure
from merrow_runtime.store.memory import MemoryStore

ONE = flowchart('A@{op: Custom, prompt: "one"}', "PROBLEM --> A --> RETURN")
TWO = flowchart('A@{op: Custom, prompt: "two"}', "PROBLEM --> A --> RETURN")


def test_a_block_of_a_markdown_file_is_named_by_its_number(tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text(f"# Two\n\n```mermaid\n{ONE}```\n\nand\n\n```mermaid\n{TWO}```\n")
    assert '"two"' in merrow_runtime.load(f"{file}#2").text
    assert merrow_runtime.load(f"{file}#2").name == f"{file}#2"
    for name, sentence in ((str(file), "name one, such as"), (f"{file}#3", "there is no block 3")):
        with pytest.raises(UsageFailure, match=sentence):
            merrow_runtime.load(name)


def test_an_error_in_a_markdown_block_names_the_files_own_line(tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text(
        "# One\n\n```mermaid\nflowchart TD\n    PROBLEM([x]):::Interface\n    Q[Nonsense]:::NonsenseOp\n```\n"
    )
    with pytest.raises(UsageFailure, match=r"notes\.md has .*line 4:"):
        merrow_runtime.load(file)


@pytest.mark.parametrize("name", ["no.mmd", "."])
def test_what_is_no_file_is_told_in_a_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageFailure):
        merrow_runtime.load(tmp_path / name)


def test_files_outside_the_workspace_are_refused_after_links(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (inside / "merrow.toml").write_text("")
    (outside / "prompts.yaml").write_text("solver: secret\n")
    (inside / "prompts.yaml").symlink_to(outside / "prompts.yaml")
    file = inside / "flow.mmd"
    file.write_text(
        flowchart("A@{op: Custom, role: solver}", "PROBLEM --> A --> RETURN", front="{prompts: ./prompts.yaml}")
    )
    with pytest.raises(UsageFailure, match="outside the workspace"):
        merrow_runtime.load(file)


async def test_a_prompt_module_beside_the_file_is_read_and_never_run(tmp_path: Path) -> None:
    (tmp_path / "prompt.py").write_text('SOLVER = "from the module"\nopen("ran", "w")\n')
    (tmp_path / "flow.mmd").write_text(flowchart("A@{op: Custom, role: solver}", "PROBLEM --> A --> RETURN"))
    endpoint = FakeEndpoint()
    result = await merrow_runtime.run(tmp_path / "flow.mmd", {"problem": "x"}, endpoint=endpoint, store=MemoryStore())
    assert result.outputs == {"RETURN": "from the module <- x"}
    assert not (tmp_path / "ran").exists()


def test_settings_decide_what_an_error_is(tmp_path: Path) -> None:
    file = tmp_path / "flow.mmd"
    file.write_text(flowchart('A["Custom"]:::CustomOp', "PROBLEM --> A --> RETURN"))
    merrow_runtime.load(file)
    (tmp_path / "merrow.toml").write_text('severity = {MW309 = "error"}\n')
    with pytest.raises(UsageFailure, match="MW309"):
        merrow_runtime.load(file)


STEP = 'A@{op: Custom, prompt: "p"}'
LINE = "PROBLEM --> A --> RETURN"
SCORED = ('S@{op: Custom, prompt: "p", returns: Number}', "PROBLEM --> S", "S -->|when| D", "PROBLEM -->|value| D")


def boxed(title: str, *edges: str) -> tuple[str, ...]:
    return (f'subgraph L["{title}"]', STEP, "end", "PROBLEM --> A", *edges)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (
            (STEP, 'B@{op: Custom, prompt: "p"}', "PROBLEM --> A --> B --> A", "B --> RETURN"),
            "these nodes wait for each other: A -> B",
        ),
        (("A@{op: Custm}", LINE), "the operator of node A is not known"),
        *(
            ((f"A@{{op: Custom, prompt: p, {key}: much}}", LINE), f"`{key}` of node A must be a number, not `much`")
            for key in ("temperature", "max_tokens", "seed", "timeout", "retries")
        ),
        *(
            (boxed(f"Map ({key}: many)", "A --> RETURN"), f"`{key}` of L must be a number, not `many`")
            for key in ("max", "min", "parallel")
        ),
        (
            boxed("Loop (max: 2.5)", "A -.->|again:input| A", "A -->|over| RETURN"),
            "`max` of L must be a number, not `2.5`",
        ),
    ],
    ids=str,
)
def test_what_can_not_be_run_is_refused_though_settings_ignore_the_rule(
    lines: tuple[str, ...], why: str, tmp_path: Path
) -> None:
    (tmp_path / "flow.mmd").write_text(flowchart(*lines))
    with pytest.raises(UsageFailure, match="MW"):
        merrow_runtime.load(tmp_path / "flow.mmd")
    (tmp_path / "merrow.toml").write_text('ignore = ["MW"]\n')
    with pytest.raises(UsageFailure) as refused:
        merrow_runtime.load(tmp_path / "flow.mmd")
    assert str(refused.value) == f"{tmp_path / 'flow.mmd'} can't be run: {why}."


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (
            ('D@{op: Decision, if: "x y"}', "PROBLEM -->|value| D", "D -->|yes| RETURN"),
            "Decision D: `x y` can't be worked out",
        ),
        (
            (*SCORED, "D{which?}:::DecisionOp", "D -->|1| RETURN", "D -->|2| RETURN"),
            "Decision D: no case takes `7`; its cases are `1`, `2`.",
        ),
        (
            boxed("Loop (max: 2, until: x y)", "A -.->|again:input| A", "A -->|over| RETURN"),
            "Loop L: `until: x y` can't be worked out: invalid syntax.",
        ),
        ((STEP, "A --> RETURN"), "Node A: nothing arrived at its port input."),
        ((STEP, "PROBLEM --> A"), "Output RETURN: nothing arrived at it."),
        (
            (STEP, "R@{op: Review}", "PROBLEM --> A", "A -->|solution| R", "R -->|feedback:| RETURN"),
            "Node R: nothing arrived at its port problem.",
        ),
    ],
    ids=str,
)
async def test_a_run_fails_in_a_sentence_where_settings_ignored_what_is_wrong(
    lines: tuple[str, ...], why: str, tmp_path: Path
) -> None:
    (tmp_path / "flow.mmd").write_text(flowchart(*lines))
    (tmp_path / "merrow.toml").write_text('ignore = ["MW"]\n')
    endpoint = FakeEndpoint(lambda _: "7")
    run = merrow_runtime.start(tmp_path / "flow.mmd", {"PROBLEM": "x"}, endpoint=endpoint, store=MemoryStore())
    result = await run.result()
    assert result.status == "failed"
    assert str(result.error).startswith(why)


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = (
        "import sys, merrow_runtime, merrow_runtime.program.workflow_files, merrow_runtime.program.workspace; "
        "late = 'openai', 'httpx2', 'aiohttp', 'sqlite3', 'asyncio', 'merrow_runtime.running.api'; "
        "print([m for m in late if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert shown.stdout.strip() == "[]"
