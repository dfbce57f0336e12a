"""Programs run in this process, and what a run and a program did, side by side."""

from __future__ import annotations

import asyncio
import contextlib
import io
import itertools
import json
import sys
import types
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import merrow_runtime
from merrow_runtime import RunOptions, RunResult, Workflow
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.usage import Usage
from merrow_runtime.values import as_text

_NUMBERS = itertools.count()
_CODE = "```python\ndef solve():\n    return 3\n```"


class Done(NamedTuple):
    code: int
    out: str
    err: str


@lru_cache(maxsize=8)
def _code(text: str) -> types.CodeType:
    """A program's code: one is run several times, with different answers, and reading it takes longer than a run."""
    return compile(text, "compiled_program.py", "exec")


class Terminal(io.StringIO):
    """What a program takes for a terminal."""

    def isatty(self) -> bool:
        return True


def run_program(
    text: str, *arguments: str, terminal: bool = False, file: Path | None = None, typed: str | None = None
) -> Done:
    """Run a program's text with a command line: as what is in a ``file``, and with a person who has ``typed`` this."""
    name = f"compiled_program_{next(_NUMBERS)}"
    module = types.ModuleType(name)
    if file is not None:
        module.__file__ = str(file)
    out, err, before = Terminal() if terminal else io.StringIO(), io.StringIO(), (sys.argv, sys.stdin)
    if typed is not None:
        err, sys.stdin = Terminal(), Terminal(typed)
    sys.modules[name], sys.argv = module, ["program.py", *arguments]
    try:
        exec(_code(text), module.__dict__)  # noqa: S102 (what is tested)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = module.main()
            except SystemExit as ended:
                code = int(ended.code or 0)
    finally:
        sys.argv, sys.stdin = before
        del sys.modules[name]
    return Done(code, out.getvalue(), err.getvalue())


class Scripted:
    """An endpoint that says anything that fits, and now and then what can't be used: cut, refused, no JSON."""

    origin = "https://scripted.test"

    def __init__(self, seed: int, bad: float) -> None:
        self._seed, self._bad = seed, bad
        self._asked: dict[str, int] = {}

    async def complete(self, request: ModelRequest, on_text: object = None) -> ModelReply:
        del on_text
        number = self._asked[request.hash] = self._asked.get(request.hash, 0) + 1
        chance = Random(f"{self._seed} {request.hash} {number}")
        await asyncio.sleep(chance.random() * 0.002)
        kind = chance.random()
        if kind < self._bad / 3:
            return ModelReply("I won't.", "refusal", Usage(1, 1, 1))
        if kind < self._bad * 2 / 3:
            return ModelReply("And so it", "length", Usage(1, 1, 1))
        if kind < self._bad:
            return ModelReply("%%%", usage=Usage(1, 1, 1))
        if request.schema is not None:
            return ModelReply(json.dumps(_value(request.schema.schema, chance)), usage=Usage(3, 2, 1))
        said = ["alpha", "yes", "no", "math", "other", "good", "bad", _CODE, "A", "3"]
        return ModelReply(chance.choice(said), usage=Usage(3, 2, 1))

    async def close(self) -> None:
        pass


def _value(schema: Mapping[str, Any], chance: Random) -> Any:
    if "enum" in schema:
        return chance.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    if "anyOf" in schema:
        return _value(chance.choice(schema["anyOf"]), chance)
    kind = schema.get("type")
    kind = chance.choice(kind) if isinstance(kind, list) else kind
    if kind == "object":
        return {name: _value(part, chance) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [_value(schema.get("items", {}), chance) for _ in range(chance.randint(0, 3))]
    if kind == "boolean":
        return chance.random() < 0.5
    if kind in ("number", "integer"):
        return chance.randint(0, 5)
    return chance.choice(["alpha", "beta", "A", "B", _CODE])


def run(workflow: Workflow, inputs: Mapping[str, Any], options: RunOptions, endpoint: Any = None) -> RunResult:
    async def begun() -> RunResult:
        return await merrow_runtime.start(workflow, inputs, endpoint=endpoint, options=options).result()

    return asyncio.run(begun())


def inputs_of(workflow: Workflow) -> dict[str, str]:
    """A value for each input that needs one."""
    by_type = {"Number": "2", "Bool": "yes"}
    found: dict[str, str] = {}
    for node in workflow.graph.inputs:
        type_ = str(node.outputs.get("value"))
        if "default" not in node.resolution.parameters:
            found[node.id] = '["a", "b"]' if type_.startswith("list") else by_type.get(type_, "def f(x): pass")
    return found


def calls(recording: Path) -> list[str]:
    """The calls of a recording but for what they cost, in an order of their own."""
    keys = ("node", "path", "redo", "sample", "step", "attempt", "kind", "request_hash", "request", "result", "usable")
    lines = map(json.loads, recording.read_text().splitlines()[1:])
    return sorted(json.dumps([line.get(key) for key in keys]) for line in lines)


def check_same(workflow: Workflow, program: str, folder: Path, seed: int, bad: float = 0.15) -> RunResult:
    """A run recorded, and the program with the recording: the same requests, output, exit code and failure; and back."""
    recorded, again = folder / "recorded.jsonl", folder / "again.jsonl"
    for path in (recorded, again):
        path.unlink(missing_ok=True)
    inputs = inputs_of(workflow)
    run(workflow, inputs, RunOptions(record=recorded, no_store=True, allow_unsafe=True), Scripted(seed, bad))
    wanted = run(workflow, inputs, RunOptions(replay=recorded, no_store=True))
    said = [part for name, value in inputs.items() for part in ("--input", f"{name}={value}")]
    done = run_program(program, *said, "--replay", str(recorded), "--record", str(again))
    if wanted.status == "finished":
        assert done.code == 0
        # A line for each Loop that was stopped, and the names of several outputs.
        assert len(wanted.outputs) > 1 or len(done.err.splitlines()) == len(wanted.exhausted)
        assert done.out == "".join(as_text(value) + "\n" for value in wanted.outputs.values())
        assert calls(again) == calls(recorded)
        assert run(workflow, inputs, RunOptions(replay=again, no_store=True)).outputs == wanted.outputs
    else:
        assert wanted.error is not None
        assert done.code == (2 if wanted.failure is not None and wanted.failure.code in ("usage", "input") else 1)
        assert done.err == f"program.py: {wanted.error}\n"
        assert done.out == ""
        assert set(calls(again)) <= set(calls(recorded))
    return wanted
