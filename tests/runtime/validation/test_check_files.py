"""Checks in Python files beside the workflow: read from inside the workspace alone, and run in the sandbox."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.runtime.validation.judged import Model, run, validation

import merrow_runtime
from merrow_analysis.check import analyse
from merrow_analysis.ide.links import links
from merrow_analysis.text import apply_edits
from merrow_runtime import RunOptions
from merrow_runtime.errors import AnswerFailure, UsageFailure, ValidatorFailure
from merrow_runtime.operators.formats.planned import load_planned
from merrow_runtime.program.loading import load
from merrow_runtime.program.workspace import WorkspaceFinder
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.workflow import check_workflow

FLOW = """\
---
workflow:
  model: m
  validators: {{v: {{python: {path}}}}}
---
flowchart TD
    PROBLEM([Problem]) --> A["Custom"] --> RETURN([Answer])
    A@{{ prompt: Say., validate: v, attempts: 2, on_invalid: accept }}
"""
SHORT = "LIMIT = 3\n\ndef check(output, inputs):\n    return len(output) <= LIMIT or f'{len(output)} is long'\n"


def flow_at(folder: Path, path: str = "checks.py", text: str | None = SHORT) -> Path:
    """A workflow file in a workspace of its own that names a file with a check."""
    (folder / "flows").mkdir()
    (folder / "merrow.toml").write_text("")
    file = folder / "flows/flow.mmd"
    file.write_text(FLOW.format(path=path))
    if text is not None:
        (file.parent / path).write_text(text)
    return file


@pytest.mark.parametrize("path", ["checks.py", "./checks.py", "../shared checks.py"])
async def test_a_check_in_a_file_judges_as_one_in_the_workflow(tmp_path: Path, path: str) -> None:
    model = Model(["long one", "abc"])
    result = await run(load(flow_at(tmp_path, path)), model)
    assert (result.outputs, validation(result)) == ({"RETURN": "abc"}, (2, True, [["8 is long"], []]))
    assert "- 8 is long" in model.seen[1].messages[-1].content


@pytest.mark.parametrize("path", ["../../secret.py", "/etc/secret.py", "missing.py", "link.py"])
async def test_nothing_outside_the_workspace_is_read(tmp_path: Path, path: str) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    file = flow_at(workspace, path, None)
    (tmp_path / "secret.py").write_text(SHORT)
    (file.parent / "link.py").symlink_to(tmp_path / "secret.py")
    with pytest.raises(UsageFailure, match=r"line 4 .*MW502"):
        load(file)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def check(output):", "this is not valid Python"),
        ("def judge(output, inputs):\n    return True", "it must define a function `check(output, inputs)`"),
        ("#" + "x" * (1 << 20), "it is larger than 1 MB"),
    ],
)
async def test_a_file_without_a_check_is_found_before_the_run(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(UsageFailure, match=r"checks\.py can't be the check of a validator: ") as refused:
        load(flow_at(tmp_path, text=text))
    assert why in str(refused.value)


async def test_a_check_that_raises_is_named_with_its_file(tmp_path: Path) -> None:
    code = "def check(output, inputs):\n    return open('/etc/passwd').read() + 1 / 0\n"
    result = await run(load(flow_at(tmp_path, text=code)), Model(["abc"]))
    assert isinstance(result.failure, ValidatorFailure)
    assert "`check` of checks.py raised" in str(result.error)
    assert "on line 2" in str(result.error)


async def test_a_changed_file_judges_what_is_kept_and_an_unchanged_one_does_not(tmp_path: Path) -> None:
    file, store = flow_at(tmp_path), MemoryStore()
    first = await run(load(file), Model(["abc"]), store=store)

    async def again() -> Any:
        options = RunOptions(from_run=first.run, fresh=True)
        return await run(load(file), Model(["ab"]), store=store, options=options)

    assert (await again()).nodes["A"].status == "reused"
    (file.parent / "checks.py").write_text(SHORT.replace("3", "2"))
    assert validation(await again()) == (2, True, [["3 is long"], []])


async def test_a_resumed_run_judges_by_the_file_as_it_was(tmp_path: Path) -> None:
    file = flow_at(tmp_path)
    store = Store.open(tmp_path / "runs.sqlite")
    broken = await run(load(file), Model([RuntimeError("stop")]), store=store)
    (file.parent / "checks.py").unlink()
    file.unlink()
    result = await merrow_runtime.resume(broken.run, endpoint=Model(["long", "abc"]), store=store).result()
    store.close()
    assert (result.outputs, validation(result)) == ({"RETURN": "abc"}, (2, True, [["4 is long"], []]))


async def test_a_called_file_reads_the_check_beside_itself(tmp_path: Path) -> None:
    called = flow_at(tmp_path)
    (tmp_path / "checks.py").write_text("def check(output, inputs):\n    return 'the wrong file'\n")
    caller = tmp_path / "caller.mmd"
    caller.write_text(
        f"flowchart TD\n    PROBLEM([P]) --> C --> RETURN([R])\n    C@{{ op: Call, workflow: {called.parent.name}/flow.mmd }}\n"
    )
    result = await run(load(caller), Model(["long one", "abc"]))
    assert (result.outputs, result.error) == ({"RETURN": "abc"}, None)


def test_a_planned_workflow_and_a_text_alone_read_no_file(tmp_path: Path) -> None:
    text = FLOW.format(path="checks.py").replace("  model: m\n", "")
    with pytest.raises(AnswerFailure, match=r"a planned workflow can name no file, and this names checks\.py"):
        load_planned(text)
    with pytest.raises(UsageFailure, match=r"Validator v: checks\.py can't be read here"):
        merrow_runtime.dry_run(check_workflow(text), {})


def test_the_editor_opens_the_file_and_offers_one_of_almost_its_name(tmp_path: Path) -> None:
    file = flow_at(tmp_path)
    provider = WorkspaceFinder().provider(file.parent)
    analysis = analyse(file.read_text(), provider=provider)
    assert analysis.errors == []
    assert [(one.target, one.tooltip, one.is_file) for one in links(analysis)] == [
        ("checks.py", "Open the check", True)
    ]
    wrong = file.read_text().replace("checks.py", "check.py")
    (found,) = analyse(wrong, provider=provider).errors
    start, end = found.range
    assert (found.code, wrong.splitlines()[start.line][start.column : end.column]) == ("MW502", "check.py")
    assert apply_edits(wrong, list(found.fixes[0].edits)) == file.read_text()
