"""Visible tests: those that come with a task, or, where none do, those that its text shows.

Tests belong to the task, not to a function's name: two tasks that ask for a ``solve`` don't meet.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from merrow_analysis.bounded.python_source import literal
from merrow_runtime.errors import NodeFailure
from merrow_runtime.operators.base import Task
from merrow_runtime.operators.formats.python_code import parsed
from merrow_runtime.values import Value, as_text

if TYPE_CHECKING:
    import doctest

_QUOTES_ALONE = re.compile(r"""^[ \t]*(?:\"\"\"|''')[ \t]*$""", re.MULTILINE)
_LONGEST_ASSERT = 20
_MOST_LINES = 200
_LONGEST_LINE = 4000
_MOST_PARENTHESES = 100
_BEFORE_A_CALL = r"[ \t]*(?:(?:[*\-\u2022]|\d+[.)]|>>>|assert\b|for\b)[ \t]*)*"
_GIVES = re.compile(
    r"[ \t]*(?:#[ \t]*)?(?:=+>|-+>|[\u279e\u2192\u21d2]|={1,2}|(?:(?:should|must|will)[ \t]+)?(?:returns?|gives?|be|is)\b)"
    r"(?:[ \t]*returns?\b)?[ \t]*:?"
)
_WORDS = {"true": "True", "false": "False", "none": "None", "null": "None"}
_CALLED_BY_CUSTOM = re.compile(r"check|test\w*")


def tests_of(task: Task) -> list[str]:
    """The tests at the port ``tests`` and in the parameter of that name, single assertions where they can be told apart.

    Raises `NodeFailure` for a test that is no Python, or that tests nothing: it would fail or pass whatever is tested.
    """
    texts = [text for given in task.inputs.get("tests", ()) for text in _texts(given.value)]
    return single_tests([*texts, *_texts(task.node.parameters.get("tests"))], task.node.id)


def single_tests(texts: Iterable[str], node: str) -> list[str]:
    """Tests as single assertions where they can be told apart. Raises `NodeFailure` for a test that is no Python, or that tests
    nothing.
    """
    tests: list[str] = []
    for number, text in enumerate((text for text in texts if text.strip()), 1):
        tree = parsed(text)
        if tree is None:
            raise NodeFailure.of(node, f"test {number} is not valid Python; write it as `assert candidate(1) == 2`.")
        ready = _ready(text, tree)
        if not ready:
            raise NodeFailure.of(node, f"test {number} asserts nothing; write it as `assert candidate(1) == 2`.")
        tests += ready
    return list(dict.fromkeys(tests))


def tests_in(problem: str, entry_point: str) -> list[str]:
    """The tests that a problem's text shows: ``assert`` statements, ``>>>`` examples with a literal result, and lines
    that say what a call gives (``add(1, 2) == 3``, ``add(1, 2) => 3``, ``add(1, 2) should return 3``); only what calls
    ``entry_point``.
    """
    tests: list[str] = []
    for text in _prose(problem):
        tests += _asserts(text)
        tests += _examples(text)
        tests += _results(text, entry_point)
    imports = _imports(problem)
    return list(dict.fromkeys(_with(imports, test) for test in tests if _calls(test, entry_point)))


def _imports(problem: str) -> dict[str, str]:
    """The import statements that stand on lines of their own, by each name that they give a meaning."""
    imports: dict[str, str] = {}
    for line in problem.split("\n"):
        statement = line.strip()
        if not statement.startswith(("import ", "from ")):
            continue
        tree = parsed(statement)
        for node in tree.body if tree else ():
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                imports |= {alias.asname or alias.name.partition(".")[0]: ast.unparse(node) for alias in node.names}
    return imports


def _with(imports: Mapping[str, str], test: str) -> str:
    """A test after the imports that it needs."""
    tree = parsed(test)
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)] if imports and tree else []
    return "\n".join([*dict.fromkeys(imports[name] for name in names if name in imports), test])


def _texts(value: Value) -> list[str]:
    if value is None:
        return []
    return [as_text(item) for item in value] if isinstance(value, list) else [as_text(value)]


def _ready(text: str, tree: ast.Module) -> list[str]:
    """A test as the sandbox runs it: assertions one by one; a ``check`` that is only defined is called."""
    if all(isinstance(statement, ast.Assert) for statement in tree.body):
        return [ast.get_source_segment(text, statement) or ast.unparse(statement) for statement in tree.body]
    only_defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    does = [statement for statement in tree.body if not isinstance(statement, only_defined)]
    if any(isinstance(node, (ast.Assert, ast.Raise, ast.Call)) for statement in does for node in ast.walk(statement)):
        return [text]
    functions = [statement for statement in tree.body if isinstance(statement, ast.FunctionDef)]
    calls = [
        f"{function.name}({'candidate' if function.args.args else ''})"
        for function in functions
        if _CALLED_BY_CUSTOM.fullmatch(function.name) and len(function.args.args) <= 1
    ]
    return ["\n".join([text.rstrip(), "", *calls, ""])] if calls else []


def _prose(problem: str) -> list[str]:
    """The texts to look into: docstrings where the problem is Python (they say what escapes mean), else all of it."""
    tree = parsed(problem)
    if tree is not None:
        kinds = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        nodes = [node for node in ast.walk(tree) if isinstance(node, kinds)]
        texts = [text for node in nodes if (text := ast.get_docstring(node))]
        # What escapes mean may tear an example apart; as it is written it is whole.
        if texts and all(_doctests(text) is not None for text in texts):
            return texts
    return [_QUOTES_ALONE.sub("", problem)]


def _asserts(text: str) -> Iterator[str]:
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not line.strip().startswith("assert"):
            continue
        for length in range(1, _LONGEST_ASSERT + 1):
            tree = parsed("\n".join(part.strip() for part in lines[number : number + length]))
            if tree is not None and len(tree.body) == 1 and isinstance(tree.body[0], ast.Assert):
                yield ast.unparse(tree.body[0])
                break


def _examples(text: str) -> Iterator[str]:
    """Each ``>>>`` expression with its literal result as an assertion, after the statements that lead to it."""
    before: list[str] = []
    for example in _doctests(text) or ():
        tree = parsed(example.source)
        if tree is None or not tree.body:
            continue
        statement = tree.body[0]
        if len(tree.body) == 1 and isinstance(statement, ast.Expr):
            compared = _compared(statement.value, example.want)
            if compared is not None:
                yield "\n".join([*before, f"assert {compared}"])
        elif not example.want:
            before.append(example.source.strip())


def _compared(expression: ast.expr, want: str) -> str | None:
    """The comparison of an example's expression with its literal result; None where that is something else."""
    wanted = _literal(want)
    if wanted is None:
        return None
    if not (
        isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name) and expression.func.id == "print"
    ):
        return f"({ast.unparse(expression)}) == ({wanted})"
    # `print` gives None: what it shows of a value is compared. More lines may be more output, or prose.
    if len(expression.args) != 1 or expression.keywords or "\n" in want.strip():
        return None
    return f"str({ast.unparse(expression.args[0])}) == {want.strip()!r}"


def _doctests(text: str) -> list[doctest.Example] | None:
    """The ``>>>`` examples of a text; None where their lines are in disorder."""
    import doctest  # with a debugger and a test runner behind it: only where there are examples

    try:
        return doctest.DocTestParser().get_examples(text)
    except ValueError:
        return None


def _results(text: str, entry_point: str) -> Iterator[str]:
    """Lines that begin with a call and go on with what it gives."""
    begins = re.compile(rf"{_BEFORE_A_CALL}(?=(?:{re.escape(entry_point)}|candidate)\()")
    for line in text.split("\n"):
        begin = begins.match(line) if len(line) <= _LONGEST_LINE else None
        if begin is None or _is_assertion(line):
            continue
        call, rest = _call_at_start(line[begin.end() :])
        gives = _GIVES.match(rest)
        wanted = None if gives is None else _result(rest[gives.end() :])
        if wanted is not None:
            yield f"assert {call} == {wanted}"


def _is_assertion(line: str) -> bool:
    tree = parsed(line.strip())
    return tree is not None and len(tree.body) == 1 and isinstance(tree.body[0], ast.Assert)


def _call_at_start(text: str) -> tuple[str, str]:
    """The call with values that ``text`` begins with, and what follows it; two empty texts where there is none."""
    for end in [place.end() for place in re.finditer(r"\)", text)][:_MOST_PARENTHESES]:
        tree = parsed(text[:end])
        if tree is None:
            continue
        names = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        if any(isinstance(node, ast.Name) and id(node) not in names for node in ast.walk(tree)):
            break  # A name stands for any value, or for a text without its quotes.
        return ast.unparse(tree), text[end:]
    return "", ""


def _result(text: str) -> str | None:
    """The literal that ``text`` says, whether a full stop or an explanation in parentheses follows or not."""
    text = text.strip()
    for candidate in (text, text.rstrip("."), text.partition(" (")[0]):
        word = _WORDS.get(candidate.strip().casefold())
        literal = word or _literal(candidate)
        if literal is not None:
            return literal
    return None


def _literal(text: str) -> str | None:
    """The literal that the lines before the first blank one are, as Python; None where they are something else."""
    lines: list[str] = []
    for line in text.strip().split("\n"):
        if not line.strip():
            break
        lines.append(line.strip())
    for count in range(min(len(lines), _MOST_LINES), 0, -1):
        # What follows an example is often prose without a blank line between.
        try:
            value = literal("\n".join(lines[:count]))
        except (SyntaxError, ValueError):
            continue
        return repr(value)
    return None


def _calls(test: str, entry_point: str) -> bool:
    tree = parsed(test)
    names: Iterable[str] = (
        node.func.id
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    )
    return any(name in (entry_point, "candidate") for name in names)
