"""Programs of workflows: made, written, and checked against the workflow."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from merrow_runtime.compiling.compiler import SOURCE, compile_workflow
from merrow_runtime.compiling.python_text import in_quotes
from merrow_runtime.compiling.standalone import is_archive, program_in, same_files, standalone
from merrow_runtime.program.loading import load
from merrow_runtime.program.workflow_files import reason_of
from merrow_runtime.version import VERSION
from merrow_server.errors import InputError
from merrow_server.files import decode, write_bytes

if TYPE_CHECKING:
    from merrow_server.jobs.orders import EditorWorkflow

_SOURCE = re.compile(
    rf"^{re.escape(SOURCE)}(?P<file>.*), SHA-256 (?P<hash>[0-9a-f]{{64}})(?:, Merrow (?P<version>\S+))?$", re.MULTILINE
)


def compiled(file: str, output: str | None) -> str:
    """The program of the workflow in ``file``, as it stands in ``output``. Raises `UsageFailure` where it can't be compiled."""
    return compile_workflow(load(file), _shown(file, output))


def compiled_text(text: EditorWorkflow) -> tuple[str, dict[str, list[int]]]:
    """The program of a workflow as it is in an editor, and by node of it the numbers of its lines. Raises `UsageFailure`."""
    from merrow_server.jobs.checked import check

    workflow = check(text)
    program = compile_workflow(workflow)
    starts = {in_quotes(node.id): node.id for node in workflow.graph.nodes}
    lines_of: dict[str, list[int]] = {name: [] for name in starts.values()}
    own = False  # Between them are prompts, which may say anything, and the workflows that are called.
    for number, line in enumerate(program.splitlines()):
        if line == "NODES = {" or line.startswith("async def workflow("):
            own = True
        elif line == "}" or line.startswith("def "):
            own = False
        match = _OF_NODE.match(line)
        if own and match is not None and (name := starts.get(match[1] or match[2])) is not None:
            lines_of[name].append(number)
    return program, lines_of


_OF_NODE = re.compile(
    r'    ("(?:[^"\\]|\\.)*"): \{|\s+(?:\w+ = )?flow(?:\.input|\.output|\.call)?\(("(?:[^"\\]|\\.)*")'
)
"""A line of a program that is about one node: of the table, or of the function."""


def _shown(file: str, output: str | None) -> str | None:
    """The path of the workflow from the folder of the program; None where the program has none."""
    if output is None:
        return None
    folder = Path(output).resolve().parent
    try:
        return Path(os.path.relpath(Path(file).resolve(), folder)).as_posix()
    except ValueError:  # on another drive
        return Path(file).resolve().as_posix()


def write_program(output: Path, program: str, *, alone: bool) -> None:
    """Write a program, ``alone`` with all of Merrow that it needs. Raises `InputError` where something else stands there."""
    if output.is_file():
        before = _bytes_of(output)
        text = program_in(before) if is_archive(before) else before.decode("utf-8", "replace")
        if before.strip() and (text is None or _SOURCE.search(text.replace("\r\n", "\n")) is None):
            raise InputError(f"{output} is there already and was not made by `merrow compile`; it is not written over.")
    write_bytes(output, standalone(program) if alone else program.encode())
    if alone and output.is_file():
        output.chmod(output.stat().st_mode | 0o111)


def program_text(path: Path) -> str:
    """The text of a compiled program, also of one in an archive. Raises `InputError`."""
    data = _bytes_of(path)
    text = program_in(data) if is_archive(data) else decode(data, str(path)).text
    if text is None:
        raise _not_made(path)
    return text.replace("\r\n", "\n")


def out_of_date(program: Path, file: str | None = None) -> str | None:
    """Why a program is not what the workflow in ``file`` says, or in the file that it names; None where it is. Raises
    `InputError` where it is no program of `merrow compile`, `UsageFailure` where the workflow can't be compiled.
    """
    text = program_text(program)
    match = _SOURCE.search(text)
    if match is None:
        raise _not_made(program)
    source = file if file is not None else str(program.parent / match["file"])
    now = compile_workflow(load(source), match["file"])
    alone = _bytes_of(program)
    is_alone = is_archive(alone)
    again = f"Compile it again with: merrow compile {source}{' --standalone' if is_alone else ''} -o {program}"
    of_now = _SOURCE.search(now)
    if of_now is not None and of_now["hash"] != match["hash"]:
        return f"{program} is out of date: {source} has changed since it was compiled. {again}"
    if match["version"] != VERSION:
        return f"{program} was compiled by another version of Merrow than this one, {VERSION}. {again}"
    if text != now:
        line = _first_difference(text, now)
        return f"{program} was changed by hand since it was compiled, first in line {line}. {again}"
    if is_alone and not same_files(alone, standalone(now)):
        return f"The code in {program} is not that of this version of Merrow. {again}"
    return None


def _not_made(program: Path) -> InputError:
    return InputError(f"{program} was not made by `merrow compile`, so there is nothing to check it against.")


def _first_difference(first: str, second: str) -> int:
    lines, others = first.splitlines(), second.splitlines()
    both = zip(lines, others, strict=False)
    return next((n for n, (line, other) in enumerate(both, 1) if line != other), min(len(lines), len(others)) + 1)


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise InputError(f"{path} can't be read: {reason_of(problem)}.") from None
