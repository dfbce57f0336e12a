"""Validators: what a result must pass. As the front matter declares them, with what is wrong in one."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, cast

from merrow_analysis.bounded.patterns import PatternError, check_pattern
from merrow_analysis.bounded.python_source import parse_python
from merrow_analysis.bounded.schema_forms import problem_of_schema
from merrow_analysis.definitions.if_expressions import read_expression
from merrow_analysis.definitions.plain_values import is_json
from merrow_analysis.definitions.validation import Path, violations
from merrow_analysis.definitions.validator_schema import CHECK_KEYS, VALIDATION_KEYS

CheckKind = Literal["if", "regex", "schema", "python", "tests", "rubric"]

KINDS: tuple[CheckKind, ...] = ("if", "regex", "schema", "python", "tests", "rubric")
"""The kinds of checks, in the order in which they are made: cheap ones first."""

NAMES = ("output", "outputs", "inputs")
"""What an `if` of a validator knows."""

DEFAULT_ATTEMPTS = int(VALIDATION_KEYS["attempts"]["default"])

_BELONGS: Mapping[str, tuple[str, ...]] = {
    "generate": ("tests",),
    "entry_point": ("tests",),
    "votes": ("rubric",),
    "model": ("rubric", "generate"),
}
"""Keys that only go with checks of a kind, or beside another key."""

_PATTERNS: Mapping[str, type] = {"pattern": str, "patternProperties": dict}


@dataclass(frozen=True, slots=True)
class ValidatorCheck:
    """One check. ``said`` is what its kind says: an expression, a pattern, a JSON Schema, Python, tests, a rubric. ``generate``
    is how many tests a model writes, ``votes`` how often it judges, ``model`` which one does; None for the node's own. ``file``
    is where Python is that is not in the workflow; while that has not been read, ``said`` is None.
    """

    kind: CheckKind
    said: Any
    entry_point: str = ""
    generate: int = 0
    votes: int = 1
    model: str | None = None
    file: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The check as it is written, but for its order."""
        shown: dict[str, Any] = {} if self.kind == "tests" and not self.said else {self.kind: self.said}
        if self.kind == "tests":
            shown |= {"entry_point": self.entry_point} | ({"generate": self.generate} if self.generate else {})
        shown |= {"votes": self.votes} if self.votes > 1 else {}
        return shown if self.model is None else {**shown, "model": self.model}


@dataclass(frozen=True, slots=True)
class Validator:
    """A validator of the front matter; ``checks`` in the order in which they are made."""

    name: str
    checks: tuple[ValidatorCheck, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong in a validator, in a sentence, and where, from the validator on. ``kind`` names what can be repaired."""

    path: Path
    message: str
    kind: Literal["lacks entry_point", "superfluous", "two kinds", "no tests"] | None = None


def read_validators(bodies: Mapping[str, Any], wrong: set[Path]) -> dict[str, Validator]:
    """The validators of a block that is a mapping, by casefolded name, without what can't be read; ``wrong`` are places in it
    whose values are of a wrong kind.
    """
    validators: dict[str, Validator] = {}
    for name, body in bodies.items():
        path: Path = ("workflow", "validators", name)
        written = body if isinstance(body, list) else [body]
        checks: list[ValidatorCheck] = []
        for number, entry in enumerate(written):
            place = (*path, number) if isinstance(body, list) else path
            if path in wrong or place in wrong or not isinstance(entry, dict):
                continue
            kept = {key: value for key, value in entry.items() if (*place, key) not in wrong and key in CHECK_KEYS}
            check = _check(kept)
            if check is not None:
                checks.append(check)
        checks.sort(key=lambda check: KINDS.index(check.kind))
        validators.setdefault(name.strip().casefold(), Validator(name, tuple(checks)))
    return validators


def problems_of(body: object) -> Iterator[Problem]:
    """What is wrong with a validator beyond kinds of values."""
    for number, check in enumerate(body) if isinstance(body, list) else [(None, body)]:
        if isinstance(check, dict):
            place: Path = () if number is None else (number,)
            yield from _problems(check, place)


def paths_of_files(bodies: Mapping[str, Any], wanted: str | None = None) -> Iterator[Path]:
    """Where validators, as they are written, name files with Python: all, or that one."""
    for name, body in bodies.items():
        for number, check in enumerate(body) if isinstance(body, list) else [(None, body)]:
            file = file_of(check.get("python")) if isinstance(check, dict) else None
            if file is not None and wanted in (None, file):
                yield (name, "python") if number is None else (name, number, "python")


def names_in(value: object) -> list[str]:
    """The validators that a ``validate:`` names."""
    several = value if isinstance(value, list) else [value]
    return [name.strip() for name in several if isinstance(name, str) and name.strip()]


def _kinds(body: Mapping[str, Any]) -> list[CheckKind]:
    kinds = [kind for kind in KINDS if kind in body]
    return [*kinds, *(["tests"] if "generate" in body and "tests" not in body else [])]  # type: ignore[list-item]


def _check(body: Mapping[str, Any]) -> ValidatorCheck | None:
    kinds = _kinds(body)
    if len(kinds) != 1:
        return None
    kind = kinds[0]
    value = body.get(kind)
    if kind == "tests":
        value = () if value is None else (value,) if isinstance(value, str) else tuple(value)
    generate, votes = (body.get(key) for key in ("generate", "votes"))
    model = body.get("model") if "rubric" in body or "generate" in body else None
    file = None if kind != "python" else file_of(value)
    said_here = None if file is not None else value
    return ValidatorCheck(
        kind, said_here, str(body.get("entry_point") or ""), int(generate or 0), int(votes or 1), model, file
    )


def _problems(body: dict[str, Any], place: Path) -> Iterator[Problem]:
    kinds = _kinds(body)
    if not kinds:
        yield Problem(place, f"this check says nothing to check; give it one of {_listed(KINDS)}.")
        return
    if len(kinds) > 1:
        both = " and ".join(f"`{kind}`" for kind in kinds[:2])
        message = f"a check is of one kind, and this one has {both}; make a list of two checks."
        yield Problem((*place, kinds[1]), message, "two kinds")
        return
    kind = kinds[0]
    for key in body:
        goes_with = _BELONGS.get(key)
        if goes_with is not None and kind not in goes_with and not any(other in body for other in goes_with):
            idle = f"`{key}` changes nothing at `{kind}`; it goes with {_listed(goes_with)}."
            yield Problem((*place, key), idle, "superfluous")
    # Values of a wrong kind are reported where all of the front matter is checked.
    good = {key: value for key, value in body.items() if key in CHECK_KEYS and not violations(CHECK_KEYS[key], value)}
    if kind == "tests":
        yield from _tests(good, body, place)
        return
    fault = _FAULTS[kind](good[kind]) if kind in _FAULTS and kind in good else None
    if fault is not None:
        yield Problem((*place, kind), fault)


def _tests(good: dict[str, Any], body: dict[str, Any], place: Path) -> Iterator[Problem]:
    tests, name = good.get("tests"), good.get("entry_point")
    if body.get("entry_point") is None:
        key = "tests" if "tests" in body else "generate"
        yield Problem((*place, key), "unit tests need `entry_point`, the function that they call.", "lacks entry_point")
    elif isinstance(name, str) and not name.strip().isidentifier():
        yield Problem((*place, "entry_point"), f"`{_short(name)}` can't name a function of Python.")
    if tests == [] and not body.get("generate"):
        yield Problem((*place, "tests"), "there are no tests, so no result can pass; write one.", "no tests")
    for number, test in enumerate(tests if isinstance(tests, list) else [tests]):
        if isinstance(test, str) and _parsed(test) is None:
            inner: Path = ("tests", number) if isinstance(tests, list) else ("tests",)
            yield Problem((*place, *inner), "this test is not valid Python; write it as `assert candidate(1) == 2`.")


def _expression(text: str) -> str | None:
    read = read_expression(text)
    if read.problem is not None:
        return read.problem
    unknown = next((name for name in read.names if name not in NAMES), None)
    return None if unknown is None else f"`if` does not know `{_short(unknown)}`; it knows {_listed(NAMES)}."


@lru_cache(maxsize=256)
def _regex(pattern: str) -> str | None:
    try:
        check_pattern(pattern)
    except PatternError as problem:
        return f"`{_short(pattern)}` is not a regular expression that can be used: {problem}."
    return None


def _schema(schema: dict[str, Any]) -> str | None:
    if not is_json(schema):
        return "its `schema` has a value that JSON does not have, such as .nan or .inf; write another one."
    waiting: list[object] = [schema]
    seen: set[int] = set()
    for value in waiting:  # It grows meanwhile.
        if not isinstance(value, (dict, list)) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            pattern_key = next((key for key, kind in _PATTERNS.items() if isinstance(value.get(key), kind)), None)
            if pattern_key is not None:
                return f"`{pattern_key}` can't be used in a schema here; write a check with `regex` for it."
            reference = value.get("$ref")
            if isinstance(reference, str) and not reference.startswith("#"):
                return f"`$ref: {_short(reference)}` leads out of the schema; write what it means into it."
        waiting += value.values() if isinstance(value, dict) else value
    problem = problem_of_schema(schema)
    if problem is None:
        return None
    return f"its `schema` is not a JSON Schema{problem.place and f' at {problem.place}'}: {problem.message}."


def file_of(value: object) -> str | None:
    """The path that a `python:` names; None where it is Python itself, which can't define a function without a colon."""
    path = value.strip() if isinstance(value, str) else ""
    return path if path.endswith(".py") and "\n" not in path and ":" not in path else None


def problem_of_code(code: str) -> str | None:
    """Why Python can't be a check, as the end of a sentence; None where it can."""
    tree = _parsed(code)
    if tree is None:
        return "this is not valid Python; it must define `check(output, inputs)`."
    functions = [
        statement for statement in tree.body if isinstance(statement, ast.FunctionDef) and statement.name == "check"
    ]
    if not functions:
        return "it must define a function `check(output, inputs)` that returns true, or the reason why not."
    arguments = functions[-1].args
    given = [*arguments.posonlyargs, *arguments.args]
    needed = len(given) - len(arguments.defaults)
    missing = [
        argument
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is None
    ]
    if missing or needed > 2 or (len(given) < 2 and arguments.vararg is None):
        return "`check` must take two arguments: `check(output, inputs)`."
    return None


def _python(text: str) -> str | None:
    # A file is read and looked at where there is one to read.
    return None if file_of(text) is not None else problem_of_code(text)


_FAULTS: Mapping[str, Any] = {"if": _expression, "regex": _regex, "schema": _schema, "python": _python}


@lru_cache(maxsize=256)
def _parsed(code: str) -> ast.Module | None:
    try:
        return parse_python(code)
    except SyntaxError:
        return None


def _listed(words: tuple[str, ...]) -> str:
    quoted = [f"`{word}`" for word in words]
    return " and ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"


def told(check: ValidatorCheck) -> str:
    """A check in a few words, for people."""
    content = check.said
    if check.kind == "tests":
        count = len(cast("tuple[str, ...]", content))
        written = [f"{count} test{'' if count == 1 else 's'}"] if count else []
        made = [f"{check.generate} that {check.model or 'a model'} writes"] if check.generate else []
        return f"{' and '.join(written + made) or 'no tests'} of `{check.entry_point}`"
    votes = f", {check.votes} votes" if check.votes > 1 else ""
    by = "" if check.model is None else f", judged by {check.model}"
    code = "check(output, inputs)" if check.file is None else f"check(output, inputs) of {check.file}"
    text = "a JSON Schema" if check.kind == "schema" else code if check.kind == "python" else content
    return f"{check.kind}: {_short(str(text))}{votes}{by}"
