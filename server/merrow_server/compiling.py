"""Programs of workflows: made, written beside what they share, and checked against the workflow."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from merrow_runtime.compiling.compiler import MARK, SHARED, SOURCE, Form, Program, compile_workflow
from merrow_runtime.compiling.writing import in_quotes
from merrow_runtime.errors import UsageFailure
from merrow_runtime.program.files import reason_of
from merrow_runtime.program.loading import load
from merrow_server.errors import InputError
from merrow_server.files import Source, decode

if TYPE_CHECKING:
    from merrow_server.jobs.orders import WorkflowText

_SOURCE = re.compile(rf"^{re.escape(SOURCE)}(.*), SHA-256 ([0-9a-f]{{64}})$", re.MULTILINE)
_OF_RUNTIME = "from merrow_runtime.compiling.program import "
_OF_SUPPORT = re.compile(r"from (\w+) import [^\n]*\brun_program\b")


def compiled(file: str, output: str | None, *, runtime: bool = False, support: str | None = None) -> Program:
    """The program of the workflow in ``file``, as it stands in ``output``. Raises `UsageFailure` where it can't be compiled."""
    if runtime and support is not None:
        raise InputError(
            "A program either imports Merrow's runtime (--runtime) or has its code in a module (--support)."
        )
    module = None
    if support is not None:
        if output is None:
            raise InputError("--support needs -o: the module is written beside the program.")
        module = _module_of(Path(output), Path(support))
    form: Form = "runtime" if runtime else "support" if support is not None else "alone"
    return compile_workflow(load(file), form, module, _shown(file, output))


def compiled_text(text: WorkflowText, *, runtime: bool = False) -> tuple[str, int, dict[str, list[int]]]:
    """The program of a workflow as it is in an editor, how many of its lines a person reads, and by node of it the numbers of its
    lines. Raises `UsageFailure`.
    """
    from merrow_server.jobs.checked import check

    workflow = check(text)
    program = compile_workflow(workflow, "runtime" if runtime else "alone").text
    lines = program.partition(MARK)[0].splitlines()
    starts = {in_quotes(node.id): node.id for node in workflow.graph.nodes}
    found: dict[str, list[int]] = {name: [] for name in starts.values()}
    own = False  # Between them are prompts, which may say anything, and the workflows that are called.
    for number, line in enumerate(lines):
        if line == "NODES = {" or line.startswith("async def workflow("):
            own = True
        elif line == "}" or line.startswith("def "):
            own = False
        said = _OF_NODE.match(line)
        if own and said is not None and (name := starts.get(said[1] or said[2])) is not None:
            found[name].append(number)
    return program, len(lines), found


_OF_NODE = re.compile(
    r'    ("(?:[^"\\]|\\.)*"): \{|\s+(?:\w+ = )?flow(?:\.input|\.output|\.call)?\(("(?:[^"\\]|\\.)*")'
)
"""A line of a program that is about one node: of the table, or of the function."""


def _module_of(output: Path, support: Path) -> str:
    if support.resolve().parent != output.resolve().parent or support.suffix != ".py":
        raise InputError(f"{support} must be a Python file in the folder of {output}, which imports it.")
    if not support.stem.isidentifier() or support.stem == output.stem:
        raise InputError(f"{support} can't be imported by {output}; give it another name.")
    return support.stem


def _shown(file: str, output: str | None) -> str | None:
    """The path of the workflow from the folder of the program; None where the program has none."""
    if output is None:
        return None
    folder = Path(output).resolve().parent
    try:
        return Path(os.path.relpath(Path(file).resolve(), folder)).as_posix()
    except ValueError:  # on another drive
        return Path(file).resolve().as_posix()


def written(output: Path, support: str | None, program: Program) -> list[tuple[Path, str]]:
    """What is to be written where. Raises `InputError` where something else stands there."""
    files = [(output, program.text)]
    if support is not None and program.support is not None:
        files.insert(0, (Path(support), program.support))
    for path, _ in files:
        text = _text_of(path) if path.is_file() else None
        if text is not None and text.strip() and _SOURCE.search(text) is None and not text.startswith(SHARED):
            raise InputError(f"{path} is there already and was not made by `merrow compile`; it is not written over.")
    return files


def out_of_date(program: Path, file: str | None = None) -> str | None:
    """Why a program is not what the workflow in ``file`` says, or in the file that it names; None where it is. Raises
    `InputError` where it is no program of `merrow compile`, `UsageFailure` where the workflow can't be compiled.
    """
    text = _text_of(program)
    found = _SOURCE.search(text)
    if found is None or MARK not in text:
        raise InputError(f"{program} was not made by `merrow compile`, so there is nothing to check it against.")
    source = file if file is not None else str(program.parent / found[1])
    above, _, below = text.partition(MARK)
    form: Form = "alone"
    module = None
    if _OF_RUNTIME in below[:400]:
        form = "runtime"
    elif (imported := _OF_SUPPORT.match(below.lstrip())) is not None:
        form, module = "support", imported[1]
    now = compile_workflow(load(source), form, module, found[1])
    again = f"Compile it again with: merrow compile {source} -o {program}"
    of_now = _SOURCE.search(now.text)
    if of_now is not None and of_now[2] != found[2]:
        return f"{program} is out of date: {source} has changed since it was compiled. {again}"
    above_now, _, below_now = now.text.partition(MARK)
    if above != above_now:
        line = _first_difference(above, above_now)
        return f"{program} was changed by hand since it was compiled, first in line {line}. {again}"
    if below != below_now:
        return f"The code in {program} is not that of this version of Merrow. {again}"
    if module is not None:
        beside = program.with_name(f"{module}.py")
        if _text_of(beside) != now.support:
            return f"The code in {beside} is not that of this version of Merrow. {again} --support {beside}"
    return None


def _first_difference(first: str, second: str) -> int:
    lines, others = first.splitlines(), second.splitlines()
    return next((n for n, (one, other) in enumerate(zip(lines, others, strict=False), 1) if one != other), len(lines))


def _text_of(path: Path) -> str:
    try:
        source: Source = decode(path.read_bytes(), str(path))
    except OSError as problem:
        raise InputError(f"{path} can't be read: {reason_of(problem)}.") from None
    return source.text.replace("\r\n", "\n")


__all__ = ["UsageFailure", "compiled", "out_of_date", "written"]
