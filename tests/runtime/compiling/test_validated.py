"""Validators in compiled programs: the same checks in the same attempts with the same end as in a run, and read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.compiling.programs import check_same
from tests.runtime.compiling.test_read_back import read_back, readable

from merrow_runtime import Workflow, check_workflow
from merrow_runtime.compiling.compiler import compile_workflow
from merrow_runtime.program.loading import load

CHECKS: dict[str, Any] = {
    "if": {"if": "output != 'alpha' and len(inputs.input) > 1"},
    "regex": [{"regex": "^[ab]"}, {"regex": 'a"\\d{0,2}|l'}],
    "schema": {"schema": {"type": "array", "items": {"type": "string"}}},
    "python": {"python": "def check(output, inputs):\n    return output != 'no' or 'it says \"no\"'\n"},
    "tests": {"tests": ["assert solve() == 3"], "entry_point": "solve", "generate": 2},
    "rubric": [{"rubric": "It is short.", "votes": 3}, {"if": "'o' in output"}],
}


def workflow(checks: Any, keys: str = "", of_return: str = "", further: Any = None) -> Workflow:
    front = json.dumps(
        {"model": "m", "validators": {"Fits": checks, "unused": {"regex": "z"}, **(further or {})}}, indent=1
    )
    header = "\n".join("  " + line for line in front[1:-1].strip("\n").splitlines()).rstrip()
    return check_workflow(
        f"---\nworkflow: {{\n{header}\n  }}\n---\nflowchart TD\n"
        "    PROBLEM([Problem]):::Interface\n    RETURN([Answer]):::Interface\n"
        f'    A@{{ op: Custom, prompt: "say", validate: fits{keys} }}\n'
        '    B@{ op: Custom, prompt: "again" }\n'
        "    PROBLEM -->|input| A\n    A -->|input| B\n    PROBLEM -->|input| B\n    B --> RETURN\n"
        + (f"    RETURN@{{ {of_return} }}\n" if of_return else "")
        + "    classDef Interface fill:#eee\n",
        name="validated.mmd",
    )


def check(made: Workflow, folder: Path, seeds: int = 4) -> set[str]:
    program = compile_workflow(made)
    found = set()
    for seed in range(seeds):
        result = check_same(made, program, folder, seed, (0.0, 0.0, 0.2, 0.4)[seed % 4])
        found.add(result.status if result.failure is None else result.failure.code)
    assert readable(read_back(made, folder)) == readable(made)
    return found


@pytest.mark.parametrize("kind", CHECKS)
@pytest.mark.thinned(24)
def test_each_kind_of_check_judges_alike(kind: str, tmp_path: Path) -> None:
    check(workflow(CHECKS[kind], ", temperature: 1"), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "keys",
    [
        ", attempts: 1, on_invalid: skip",
        ", on_invalid: accept",
        ", on_invalid: refine",
        ", samples: 3, on_invalid: accept",
    ],
)
def test_what_becomes_of_a_result_that_is_not_valid(keys: str, tmp_path: Path) -> None:
    ended = check(workflow({"if": "output == 'never'"}, keys), tmp_path)
    assert ("finished" in ended) == ("accept" in keys or "skip" in keys)


@pytest.mark.slow
def test_an_output_is_judged_with_the_inputs_of_its_workflow(tmp_path: Path) -> None:
    made = workflow(
        {"if": "len(output) > 0"}, of_return="validate: unlike", further={"unlike": {"if": "inputs.PROBLEM != output"}}
    )
    assert "finished" in check(made, tmp_path)


@pytest.mark.slow
def test_a_validator_that_cannot_judge_says_the_same(tmp_path: Path) -> None:
    for expression in ("inputs.gone == 1", "inputs['gone'] == 1", "output.x == 3", "output > 3", "int(output) == 1"):
        assert "validator" in check(workflow({"if": expression}), tmp_path, 1)


@pytest.mark.slow
def test_a_called_file_has_validators_of_its_own(tmp_path: Path) -> None:
    called = """---
workflow:
  validators:
    short: [{if: "len(output) < 5"}, {rubric: "It is short."}]
---
flowchart TD
    PROBLEM([P]):::Interface
    RETURN([R]):::Interface
    RETURN@{ type: Text, validate: short }
    A@{ op: Custom, prompt: "say", validate: short, attempts: 2, on_invalid: accept }
    PROBLEM -->|input| A
    A --> RETURN
    classDef Interface fill:#eee
"""
    (tmp_path / "part.mmd").write_text(called)
    outer = (
        "flowchart TD\n    PROBLEM([P]):::Interface\n    RETURN([R]):::Interface\n"
        "    C@{ op: Call, workflow: ./part.mmd }\n    PROBLEM --> C\n    C --> RETURN\n    classDef Interface fill:#eee\n"
    )
    (tmp_path / "outer.mmd").write_text(outer)
    made = load(tmp_path / "outer.mmd")
    program = compile_workflow(made)
    ended = {check_same(made, program, tmp_path, seed, 0.0).status for seed in range(8)}
    assert ended == {"finished", "failed"}
