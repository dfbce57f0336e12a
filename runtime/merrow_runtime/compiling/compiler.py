"""A workflow as the text of a Python program, which a person can read and `merrow_runtime.compiled` carries out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from merrow_analysis.tools.pins import PINS_FILE
from merrow_runtime.compiling.lines import IMPORTED, FileLines, ProgramLines, file_name
from merrow_runtime.compiling.python_text import PythonNames, in_lines, in_quotes
from merrow_runtime.compiling.refusing import check_compiled, left_out, pins_of_file, runs_code
from merrow_runtime.errors import UsageFailure
from merrow_runtime.values import canonical
from merrow_runtime.version import VERSION
from merrow_runtime.workflow import Workflow

SOURCE = "# Source: "
"""How the line begins that has the hash of the workflow's files."""

_TAKEN = ("AGENTS", "NODES", "TOOLS", "TYPES", "VALIDATORS")
"""Names that each program may have of its own."""


def compile_workflow(workflow: Workflow, source: str | None = None) -> str:
    """The program of a workflow. ``source`` is the path of the workflow from the folder of the program.

    The same workflow gives the same text each time. Raises `UsageFailure` that names what a program can't hold, or where it would
    not be valid Python.
    """
    check_compiled(workflow)
    files = workflow.reached()
    names = PythonNames([*IMPORTED, *_TAKEN])
    functions = {
        file.place: "workflow" if not file.place else names.of(file.place.rpartition("/")[2]) for file in files
    }
    written = [FileLines(file, functions, names).write() for file in files]
    text = "\n".join([*_head(workflow, written, source), *_body(written)]) + "\n"
    _check_python(text)
    return text


def _check_python(text: str) -> None:
    """Raise `UsageFailure` where a text can't be a Python program."""
    try:
        compile(text, "program", "exec", dont_inherit=True)
    except SyntaxError as problem:
        where = problem.lineno or 1
        raise UsageFailure(
            f"The workflow can't be compiled: line {where} of its program would not be valid Python ({problem.msg})."
        ) from None
    except (ValueError, RecursionError, MemoryError) as problem:
        why = str(problem) or "it is nested too deeply"
        raise UsageFailure(f"The workflow can't be compiled: Python can't read its program ({why}).") from None


def source_hash(workflow: Workflow) -> str:
    """The hash of all that a workflow is made of: its text, the files that it reads and calls, and the pins that it uses."""
    texts: list[object] = []
    for reached in workflow.reached():
        files = {path: dict(known) for path, known in reached.files.items() if path.rpartition("/")[2] != PINS_FILE}
        texts.append([reached.place, reached.text, files])
        pins = [[name, *pin.same] for name, pin in pins_of_file(reached).items() if pin is not None]
        texts += [pins] if pins else []
    return hashlib.sha256(canonical(texts).encode("utf-8", "surrogatepass")).hexdigest()


def _head(workflow: Workflow, written: Iterable[ProgramLines], source: str | None) -> Iterator[str]:
    title_written = workflow.analysis.settings.document.values.get("title")
    title = " ".join(str(title_written).split()) if isinstance(title_written, str) else ""
    name = file_name(workflow)
    about = [title or f"The workflow of {name}.", "", f"Made by `merrow compile` of {name}.", ""]
    about += left_out(
        runs=runs_code(workflow),
        tools=any(map(pins_of_file, workflow.reached())),
        stores=any(reached.analysis.settings.stores for reached in workflow.reached()),
    )
    yield in_lines("\n".join(about) + "\n").replace('"""\\\n', '"""', 1)
    yield ""
    yield f"{SOURCE}{in_quotes(source or name)[1:-1]}, SHA-256 {source_hash(workflow)}, Merrow {VERSION}"
    yield from ("from __future__ import annotations", "")
    if any(file.is_revised for file in written):
        yield "from merrow_optimizer.revising.model import ModelReviser"
    words = {word for file in written for word in file.words}
    imported = ", ".join(sorted({"Flow", "Result", "run_program", *words}))
    yield f"from merrow_runtime.compiled import {imported}"


def _body(written: Iterable[ProgramLines]) -> Iterator[str]:
    several = list(written)
    for file in several:
        yield ""
        yield from file.constants
        yield from file.table
    for file in reversed(several):
        yield from ("", "", *file.function)
    yield from (
        "",
        "",
        "def main() -> int:",
        '    """The command line."""',
        "    return run_program(workflow, __doc__)",
        "",
        "",
        'if __name__ == "__main__":',
        "    raise SystemExit(main())",
    )
