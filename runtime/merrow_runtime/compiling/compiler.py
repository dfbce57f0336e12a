"""A workflow as the text of a Python program: what a person reads, a marked line, and the code that carries it out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from merrow_runtime.compiling.cutting import Place, cut_out
from merrow_runtime.compiling.lines import FileLines, Written, file_name
from merrow_runtime.compiling.refusing import check_compiled, checks_of, left_out, needs_runtime, runs_code
from merrow_runtime.compiling.writing import Names, in_lines, in_quotes
from merrow_runtime.errors import UsageFailure
from merrow_runtime.operators.registry import BUILT_IN
from merrow_runtime.sandbox.process import guest_modules, guest_source
from merrow_runtime.values import canonical
from merrow_runtime.workflow import Workflow

MARK = "# ---- Below this line is Merrow's own code, cut out of its source. What the workflow does is above it. ----"
"""The line between what a person reads and the code that carries it out."""
SOURCE = "# Source: "
SHARED = '"""The code that programs made by `merrow compile --support` share: Merrow\'s own."""'
"""How the line begins that has the hash of the workflow's files."""

_HERE = "merrow_runtime.compiling"
_ROOTS: tuple[Place, ...] = (
    (f"{_HERE}.program", "Flow"),
    (f"{_HERE}.program", "Result"),
    (f"{_HERE}.program", "run_program"),
    (f"{_HERE}.work", "OPERATORS"),
    (f"{_HERE}.work", "VALIDATING"),
)
_WORDS = ("each", "either", "first", "over", "passed", "typed")
_INSTEAD: Mapping[Place, Place] = {
    (module, name): (f"{_HERE}.stand_ins", name)
    for module, name in (
        ("merrow_runtime.program.titles", "title_of"),
        ("merrow_runtime.models.prices", "packaged_prices"),
        ("merrow_runtime.models.connections", "OFFLINE_HINT"),
        ("merrow_runtime.operators.formats.planned", "read_workflow"),
        ("merrow_runtime.operators.formats.planned", "problem_of"),
        ("merrow_runtime.operators.formats.planned", "EMPTY"),
        ("merrow_runtime.sandbox.process", "guest_source"),
    )
}
_GUESTS: Place = (f"{_HERE}.stand_ins", "GUESTS")
_USER: Place = ("merrow_runtime.operators.user", "UserOperator")
_VALIDATING: Place = (f"{_HERE}.validated", "Validating")

_TAKEN = (
    "AGENTS",
    "GUESTS",
    "NODES",
    "TYPES",
    "UserOperator",
    "VALIDATING",
    "VALIDATORS",
    "Validating",
    "main",
    "workflow",
)
"""Names that each program may have of its own."""

Form = Literal["alone", "runtime", "support"]
"""How a program is carried out: by code in it, by an installed Merrow, or by a module beside it."""


class Program(NamedTuple):
    """A compiled program. ``support`` is the text of the module beside it, where it needs one."""

    text: str
    support: str | None = None


def compile_workflow(
    workflow: Workflow, form: Form = "alone", support: str | None = None, source: str | None = None
) -> Program:
    """The program of a workflow. ``support`` is the name of the module beside it that has the code, for the form of that name;
    ``source`` is the path of the workflow from the folder of the program.

    Raises `UsageFailure` that names what the program can't hold, or where it would not be valid Python.
    """
    program = _program(workflow, form, support, source)
    for text in (program.text, program.support or ""):
        _check_python(text)
    return program


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


def _program(workflow: Workflow, form: Form, support: str | None, source: str | None) -> Program:
    check_compiled(workflow, runtime=form == "runtime")
    files = workflow.reached()
    roots = {name for _, name in (*_ROOTS, *((None, word) for word in _WORDS))}
    names = Names([*roots, *_TAKEN, *_classes()])
    functions = {one.place: "workflow" if not one.place else names.of(one.place.rpartition("/")[2]) for one in files}
    written = [FileLines(one, functions, names).write() for one in files]
    lines = [*_head(workflow, form, support, source), *_readable(written), "", "", MARK]
    validates = any(checks_of(one) for one in files)
    operators = sorted({name for one in written for name in one.operators})
    words = sorted({name for one in written for name in one.words})
    own = {*names.given, "AGENTS", "NODES", "TYPES", "VALIDATORS", "main", "workflow"}
    if form == "runtime":
        own_code = _from_runtime(operators, words, validates=validates, whole=needs_runtime(workflow))
        return Program("\n".join([*lines, *own_code, *_END]) + "\n")
    if form == "support":
        assert support is not None  # noqa: S101 (whoever asks for it names it)
        wanted = sorted({"run_program", "Flow", "Result", *words})
        imported = f"from {support} import {', '.join(wanted)}"
        everything = _code([*sorted(BUILT_IN), "*"], _WORDS, (), validates=True, with_guests=True)
        text = f"{SHARED}\n\n{everything}"
        return Program("\n".join([*lines, imported, *_END]) + "\n", text)
    code = _code(operators, words, own, validates=validates, with_guests=runs_code(workflow))
    return Program("\n".join([*lines, code.rstrip("\n"), *_END]) + "\n")


_END = ("", "", 'if __name__ == "__main__":', "    raise SystemExit(main())")


def source_hash(workflow: Workflow) -> str:
    """The hash of all that a workflow is made of: its text and the files that it reads and calls."""
    said = [
        [one.place, one.text, {path: dict(known) for path, known in one.files.items()}] for one in workflow.reached()
    ]
    return hashlib.sha256(canonical(said).encode("utf-8", "surrogatepass")).hexdigest()


def _head(workflow: Workflow, form: Form, support: str | None, source: str | None) -> Iterator[str]:
    said = workflow.analysis.settings.document.values.get("title")
    title = " ".join(str(said).split()) if isinstance(said, str) else ""
    name = file_name(workflow)
    about = [title or f"The workflow of {name}.", ""]
    needs = "Merrow" if form == "runtime" else "Python 3.11 or newer, `openai[aiohttp]` and `json-repair`"
    beside = f", and {support}.py beside it" if form == "support" else ""
    about += [f"Made by `merrow compile` of {name}. It needs {needs}{beside}.", ""]
    about += left_out(workflow, runtime=form == "runtime")
    yield in_lines("\n".join(about) + "\n").replace('"""\\\n', '"""', 1)
    yield ""
    yield f"{SOURCE}{in_quotes(source or name)[1:-1]}, SHA-256 {source_hash(workflow)}"
    yield "from __future__ import annotations"


def _readable(written: Iterable[Written]) -> Iterator[str]:
    several = list(written)
    for one in several:
        yield ""
        yield from one.constants
        yield from one.table
    for one in reversed(several):
        yield from ("", "", *one.function)
    yield from (
        "",
        "",
        "def main() -> int:",
        '    """The command line."""',
        "    return run_program(workflow, __doc__)",
    )


def _classes() -> list[str]:
    return [type(operator).__name__ for operator in BUILT_IN.values()]


def _class_of(operator: str) -> Place:
    made = type(BUILT_IN[operator]) if operator != "*" else None
    return _USER if made is None else (made.__module__, made.__name__)


def _code(
    operators: Iterable[str], words: Iterable[str], taken: Iterable[str], *, validates: bool, with_guests: bool
) -> str:
    """The code that a program with these operators and words needs."""
    classes = {operator: _class_of(operator) for operator in operators}
    roots = [*_ROOTS, *((f"{_HERE}.tracing", word) for word in words), *classes.values()]
    roots += [_GUESTS] if with_guests else []
    roots += [_VALIDATING] if validates else []
    code = cut_out(roots, {*taken, "main"}, _INSTEAD)
    filled = ", ".join(f"{in_quotes(name)}: {place[1]}()" for name, place in classes.items())
    code += f"\n\nOPERATORS.update({{{filled}}})\n"
    code += "VALIDATING.append(Validating())\n" if validates else ""
    if with_guests:
        for name in dict.fromkeys(guest_modules()):
            code += f"GUESTS[{in_quotes(name)}] = {in_lines(guest_source(name))}\n"
    return code


def _from_runtime(operators: Iterable[str], words: Iterable[str], *, validates: bool, whole: bool) -> Iterator[str]:
    if whole:
        yield "from merrow_optimizer.revising.model import ModelReviser"
    wanted = ["Result", "run_program"] if whole else ["Flow", "Result", "run_program"]
    yield f"from {_HERE}.program import {', '.join(wanted)}"
    if words := sorted(words):
        yield f"from {_HERE}.tracing import {', '.join(words)}"
    if whole:  # Merrow finds the operators itself, as it does for a file.
        yield from (f"from {_HERE}.whole import Flow", "", "Flow.reviser = ModelReviser()")
        return
    yield from [f"from {_HERE}.validated import Validating"] if validates else []
    yield f"from {_HERE}.work import OPERATORS" + (", VALIDATING" if validates else "")
    classes = {operator: _class_of(operator) for operator in operators}
    for module, name in sorted(set(classes.values())):
        yield f"from {module} import {name}"
    yield ""
    filled = ", ".join(f"{in_quotes(name)}: {place[1]}()" for name, place in classes.items())
    yield f"OPERATORS.update({{{filled}}})"
    yield from ["VALIDATING.append(Validating())"] if validates else []
