"""Python in an answer: found, cleaned to what parses, and asked for the function it must define."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator

from merrow_analysis.bounded.python_source import parse_python
from merrow_runtime.errors import AnswerFailure
from merrow_runtime.operators.formats.fences import fences

PYTHON_FENCES = frozenset({"python", "python3", "py", "py3"})

_STARTS_CODE = re.compile(r"(?:import|from|def|class|async|if|for|while|try|with)\b|@|[A-Za-z_]\w*\s*(?::[^=]+)?=[^=]")
_MOST_PARSED = 1_000_000
"""Characters that are parsed in all, in search of code among prose."""


def parsed(code: str) -> ast.Module | None:
    """The code's syntax tree, or None where it is no Python."""
    try:
        return parse_python(code)
    except SyntaxError:
        return None


def defines(tree: ast.Module, name: str) -> bool:
    """Whether running the module gives ``name`` a meaning at its top level."""
    return any(name in _names_of(statement) for statement in tree.body)


def read_code(answer: str, entry_point: str | None = None) -> str:
    """The program in an answer: the whole where that is Python, else all its Python fences joined, else its other fences,
    else the parts that parse. With ``entry_point`` it must define that name. What it gives, it gives again unchanged.

    Raises `AnswerFailure` where there is no such program; then the model can be asked again.
    """
    without_entry_point = False
    for candidate in _candidates(answer):
        code = _flush(candidate).rstrip()
        tree = parsed(code)
        if tree is None or not _says_something(tree):
            continue
        if entry_point is None or defines(tree, entry_point):
            return code
        without_entry_point = True
    if without_entry_point:
        raise AnswerFailure(
            f"The answer's code does not define `{entry_point}`.",
            advice=f"Your code must define `{entry_point}` at its top level. Answer with the whole program in one "
            "fenced Python block.",
        )
    raise AnswerFailure(
        "The answer holds no Python code that parses.",
        advice="Answer with one fenced Python block that holds the whole program and nothing that is not valid Python.",
    )


def _candidates(answer: str) -> Iterator[str]:
    """Texts that may be the program, the likeliest first. An answer with fences around code is no Python as a whole, since
    backticks are none; where it is, its fences stand inside a string.
    """
    yield answer
    blocks = fences(answer)
    python = [block.text for block in blocks if block.language in PYTHON_FENCES]
    others = [block.text for block in blocks if block.language not in PYTHON_FENCES]
    for group in (python, others):
        if group:
            yield "\n\n".join(_flush(text) for text in group)
            if len(group) > 1:
                yield from reversed(group)
    for text in (*python, *others) if blocks else (answer,):
        yield from _pieces(text)


def _flush(text: str) -> str:
    """The text without the indentation that all of it has, and without blank lines before it."""
    text = text.replace("\r\n", "\n").lstrip("\n")
    # Only where needed: dedenting empties blank lines, which may stand inside a string.
    return textwrap.dedent(text) if text[:1] in (" ", "\t") else text


def _pieces(text: str) -> Iterable[str]:
    """Runs of lines that parse, with prose around them cut off, the longest first. Long texts get fewer tries."""
    lines = _flush(text).split("\n")
    tries = _MOST_PARSED // (len(text) + 1)
    pieces: list[str] = []
    covered = 0
    for start, line in enumerate(lines):
        if start < covered or not _STARTS_CODE.match(line):
            continue
        end = len(lines)
        while end > start and tries > 0:
            tries -= 1
            stop = _stop("\n".join(lines[start:end]))
            if stop is None:
                pieces.append("\n".join(lines[start:end]))
                covered = end
                break
            end = min(end - 1, start + stop)
    return sorted({"\n\n".join(pieces), *pieces}, key=len, reverse=True)


def _stop(code: str) -> int | None:
    """The line (from 0) at which the code stops being Python; None where all of it is."""
    try:
        parse_python(code)
    except SyntaxError as error:
        return max((error.lineno or 1) - 1, 0)
    return None


def _says_something(tree: ast.Module) -> bool:
    """Whether this is a program, not a word or a number that happens to parse."""
    return any(
        not (isinstance(statement, ast.Expr) and isinstance(statement.value, (ast.Name, ast.Constant, ast.Attribute)))
        for statement in tree.body
    )


def _names_of(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, ast.Assign):
        yield from (target.id for target in statement.targets if isinstance(target, ast.Name))
    elif (
        isinstance(statement, ast.AnnAssign) and statement.value is not None and isinstance(statement.target, ast.Name)
    ):
        yield statement.target.id
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        yield from (alias.asname or alias.name for alias in statement.names)
    elif isinstance(statement, (ast.If, ast.Try)):
        for inner in statement.body:
            yield from _names_of(inner)
