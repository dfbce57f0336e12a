"""Validators of the front matter and the nodes that name them."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import Any

from merrow_analysis.bounded.python_source import parse_python
from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.definitions.validation import Path
from merrow_analysis.definitions.validators import Problem, names_in, problems_of
from merrow_analysis.diagnostics import Diagnostic, Fix, Severity, Tag
from merrow_analysis.edits.front_entries import add_entry, remove_entry, write_value
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.places.node_places import metadata_value_range
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.registry import Flags, RuleFamily, Scope
from merrow_analysis.rules.reporting import fix, named, parameter_range, report, why_unused
from merrow_analysis.suggest import KnownNames
from merrow_analysis.text import Range, TextEdit

_FAMILY = RuleFamily[GraphContext](Scope.PARAMETER)
UNKNOWN_VALIDATOR = _FAMILY.rule(
    "MW331", "unknown-validator", "A node names a validator that does not exist.", Severity.ERROR, fix="sometimes"
)
UNUSED_VALIDATOR = _FAMILY.rule(
    "MW332",
    "unused-validator",
    "No node uses a validator of the front matter.",
    Severity.HINT,
    fix="sometimes",
    flags=Flags.NEEDS_WHOLE | Flags.SPELLING,
)
MALFORMED_VALIDATOR = _FAMILY.rule(
    "MW333", "malformed-validator", "A check of a validator is malformed.", Severity.ERROR, fix="sometimes"
)
WITHOUT_TESTS = _FAMILY.rule(
    "MW335", "validator-without-tests", "A validator has no unit tests, so no result passes it.", Severity.WARNING
)
_OFFERED = {"rubric": "The result answers what was asked, completely and correctly."}
"""What a validator that is added checks."""


@_FAMILY.checked_by
def check_validators(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about validators, and nodes that name one."""
    validators = context.settings.validators
    used: set[str] = set()
    names = KnownNames(validator.name for validator in validators.values())
    for node in context.graph.at(context.graph.marks.validated):
        for number, name in enumerate(names_in(node.resolution.parameters["validate"].value)):
            used.add(name.casefold())
            if name.casefold() not in validators:
                near = names.closest(name)
                used.add((near or "").casefold())
                yield _unknown(context, node, name, number, near)
    for name, body in context.settings.validators_said.items():
        yield from _malformed(context, name, body)
        key = name.strip().casefold()
        first = validators[key].name if key in validators else name
        is_unused = (key not in used and names.all_guessed) or first != name
        place = context.place_of(("validators", name)) if is_unused else None
        if place is not None:
            message = f"Validator `{name}` is declared, but {why_unused(name, first)}."
            fixes = _without(context, ("workflow", "validators", name), f"Remove validator {name}")
            yield report(UNUSED_VALIDATOR, place, message, fixes=fixes, tags=(Tag.UNNECESSARY,))


def _unknown(context: GraphContext, node: TypedNode, name: str, number: int, near: str | None) -> Diagnostic:
    place = _place(node, number)
    hint = (
        f"add it to `validators` in the front matter, or did you mean `{near}`?" if near else "add it to `validators`."
    )
    message = f"{named(node)}: there is no validator `{name}`; {hint}"
    return report(UNKNOWN_VALIDATOR, place, message, fixes=_repairs(context, name, near, place))


def _place(node: TypedNode, number: int) -> Range:
    """Where the name of a validator is, or the nearest place around it."""
    parameter = node.resolution.parameters["validate"]
    if isinstance(parameter.value, list) and parameter.block is not None:
        metadata, block = node.flow.metadata[parameter.block]
        if parse_metadata(metadata.body).values.get("validate") is not None:
            return metadata_value_range(metadata, block, "validate", number)
    return parameter_range(node, "validate")


def _repairs(context: GraphContext, name: str, near: str | None, place: Range) -> Iterator[Fix]:
    if near is not None:
        yield fix(f"Write {near}", [TextEdit(place, near)], safe=False)
    edit = add_entry(context.front, "validators", name, _OFFERED)
    if edit is not None:
        yield fix(f"Add validator {name} to the front matter", [edit], safe=False)


def _malformed(context: GraphContext, name: str, body: object) -> Iterator[Diagnostic]:
    for problem in problems_of(body):
        path = ("validators", name, *problem.path)
        place = context.place_of(path) or context.place_of(("validators", name))
        if place is not None:
            message = f"Validator {name}: {problem.message}"
            rule = WITHOUT_TESTS if problem.kind == "no tests" else MALFORMED_VALIDATOR
            yield report(rule, place, message, fixes=_mended(context, name, body, problem))


def _mended(context: GraphContext, name: str, body: Any, problem: Problem) -> Iterator[Fix]:
    if context.front is None:
        return
    own: Path = ("workflow", "validators", name)
    if problem.kind == "lacks entry_point":
        path: Path = problem.path[:-1]
        check = body[path[0]] if path else body
        called = _called(check.get("tests"))
        if called is not None:
            edit = write_value(context.front, (*own, *path), {**check, "entry_point": called})
            if edit is not None:
                yield fix(f"Write entry_point: {called}", [edit], safe=False)
    elif problem.kind == "superfluous":
        yield from _without(context, (*own, *problem.path), f"Remove {problem.path[-1]}")
    elif problem.kind == "two kinds" and isinstance(body, dict) and len(body) == 2:
        edit = write_value(context.front, own, [{key: value} for key, value in body.items()])
        if edit is not None:
            yield fix("Make a list of two checks", [edit], safe=False)


def _called(tests: object) -> str | None:
    """The one function that tests call; None where there are several, or none."""
    names: set[str] = set()
    for test in tests if isinstance(tests, list) else [tests]:
        try:
            tree = parse_python(str(test))
        except SyntaxError:
            return None
        calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
        names |= {part.id for part in calls if isinstance(part, ast.Name) and not hasattr(builtins, part.id)}
    return names.pop() if len(names) == 1 and "candidate" not in names else None


def _without(context: GraphContext, path: Path, title: str) -> Iterator[Fix]:
    edit = None if context.front is None else remove_entry(context.front, path)
    if edit is not None:
        yield fix(title, [edit], safe=False)
