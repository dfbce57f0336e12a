"""The examples of docs/python-api.md run as they are there, and what it lists is what there is."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from contextlib import closing
from pathlib import Path

import pytest
from tests.runtime.engine.fakes import flowchart

import merrow_runtime
from merrow_runtime import RunOptions, RunResult

TEXT = (Path(__file__).parents[2] / "docs" / "python-api.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "solve.mmd").write_text(flowchart('A@{ op: Custom, prompt: "p" }', "PROBLEM --> A", "A --> RETURN"))
    (tmp_path / "approve.mmd").write_text(flowchart("A@{ op: Human, returns: Bool }", "PROBLEM --> A", "A --> RETURN"))
    assert len(EXAMPLES) == 5
    names: dict[str, object] = {}
    printed = []
    for example in EXAMPLES:
        run_example(example, names)
        printed.append(capsys.readouterr().out)
    assert printed[0].startswith("finished {'RETURN': ")
    assert "'event': 'run_finished'" in printed[1]
    assert isinstance(names["result"], RunResult)
    assert printed[2] == "{'RETURN': True}\n"
    assert printed[4] == "{'RETURN': 'Say it again.'}\n"
    with closing(merrow_runtime.Store.open("evaluation.sqlite")) as journal:
        assert [run.id for run in journal.runs()] == ["item-1"]


def run_example(example: str, names: dict[str, object]) -> None:
    """Run it where an ``await`` may stand outside of functions, as in the document."""
    code = compile(example, "docs/python-api.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    made = eval(code, names)  # noqa: S307 (our own document)
    if inspect.iscoroutine(made):
        import asyncio

        asyncio.run(made)


def test_every_option_and_every_name_is_in_the_document() -> None:
    listed = set(re.findall(r"`(\w+)`", TEXT.partition("## Options")[2].partition("**Which model.**")[0]))
    assert {field.name for field in dataclasses.fields(RunOptions)} <= listed
    for field in dataclasses.fields(RunResult):
        assert f"`{field.name}`" in TEXT, field.name
    for name in ("run", "start", "resume", "dry_run", "load", "check_workflow"):
        signature = inspect.signature(getattr(merrow_runtime, name))
        row = re.search(rf"\| `(?:await )?{name}\((.*?)\)`", TEXT)
        assert row is not None, name
        assert re.findall(r"\w+", row[1]) == list(signature.parameters)[: len(re.findall(r"\w+", row[1]))]
