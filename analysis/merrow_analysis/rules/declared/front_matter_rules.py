"""What is wrong with the ``workflow:`` block of the front matter."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.definitions.schema import FRONT_MATTER, LANGUAGE_VERSION, WORKFLOW, Fragment
from merrow_analysis.definitions.settings import WorkflowSettings, machine_setting_message
from merrow_analysis.definitions.validation import Path, Violation, fragment_at, named, sentence_start, shown
from merrow_analysis.diagnostics import Diagnostic, Fix, Severity
from merrow_analysis.edits.front_entries import Front, comment_entry, remove_entry, write_value
from merrow_analysis.edits.yaml_write import flow
from merrow_analysis.rules.context import TextContext
from merrow_analysis.rules.declared.configuration_rules import MACHINE_SETTING
from merrow_analysis.rules.fixes.better_values import better_values
from merrow_analysis.rules.registry import RuleFamily, Scope
from merrow_analysis.rules.reporting import fix, report
from merrow_analysis.suggest import closest
from merrow_analysis.syntax.tree import Block, FrontMatter
from merrow_analysis.text import Range, TextEdit

_FAMILY = RuleFamily[TextContext](Scope.TEXT)
UNKNOWN_KEY = _FAMILY.rule(
    "MW310", "unknown-setting", "The `workflow:` block has an unknown key.", Severity.ERROR, fix="sometimes"
)
WRONG_VALUE = _FAMILY.rule(
    "MW311",
    "wrong-setting-value",
    "A value in the `workflow:` block is of the wrong kind or out of range.",
    Severity.ERROR,
    fix="sometimes",
)
MISSPELLED_WORKFLOW = _FAMILY.rule(
    "MW312",
    "misspelled-workflow-key",
    "A key of the front matter looks like `workflow` misspelled.",
    Severity.WARNING,
    fix="always",
)
NEWER_LANGUAGE = _FAMILY.rule(
    "MW314",
    "newer-language",
    "A workflow is written for a version of the language that this Merrow does not know.",
    Severity.ERROR,
    fix="sometimes",
)


class FrontMatterPlaces:
    """Turns paths in the front matter into ranges of the file."""

    def __init__(self, settings: WorkflowSettings, front: tuple[FrontMatter, Block]) -> None:
        self._document = settings.document
        self._matter, self._block = front

    def key(self, *path: str | int) -> Range:
        """Where a key stands; the nearest key above it where it is not in this file."""
        return self._range(path, 0)

    def value(self, *path: str | int) -> Range:
        """Where a value stands, or its key where it is empty."""
        return self._range(path, 1)

    def _range(self, path: Path, which: int) -> Range:
        start = self._matter.body_span[0]
        for length in range(len(path), 0, -1):
            places = self._document.places(*path[:length])
            if places is not None:
                span = places[which if length == len(path) else 0]
                if span[0] == span[1]:
                    span = places[0]
                return self._block.range((start + span[0], start + span[1]))
        return self._block.range(self._matter.span)


@_FAMILY.checked_by
def check_front_matter(context: TextContext) -> Iterator[Diagnostic]:
    """Findings about the front matter, but for its types and operators."""
    settings, front = context.settings, context.front
    if front is None:
        return
    places = FrontMatterPlaces(settings, front)
    for violation in settings.violations:
        if violation.kind == "unknown":
            yield _unknown(violation, places, front)
        else:
            yield _wrong(violation, places, settings, front)
    if settings.version is not None and settings.version > LANGUAGE_VERSION:
        yield _newer(settings.version, places, front)
    for key in settings.machine_keys:
        fixes = _removed(front, ("workflow", key), safe=True)
        yield report(MACHINE_SETTING, places.key("workflow", key), machine_setting_message(key), fixes=fixes)
    if not settings.declared and not settings.opted_out:
        yield from _misspelled(settings, places)


def _newer(version: int, places: FrontMatterPlaces, front: Front) -> Diagnostic:
    message = (
        f"This workflow is written for version {version} of the language, but this Merrow knows version {LANGUAGE_VERSION}."
        f" Update Merrow, or write `version: {LANGUAGE_VERSION}` if the file uses nothing newer."
    )
    path = ("workflow", "version")
    return report(NEWER_LANGUAGE, places.value(*path), message, fixes=_with_known_version(front, path))


def _with_known_version(front: Front, path: Path) -> Iterator[Fix]:
    edit = write_value(front, path, LANGUAGE_VERSION)
    if edit is not None:
        yield fix(f"Write version: {LANGUAGE_VERSION}", [edit], safe=False)


def _unknown(violation: Violation, places: FrontMatterPlaces, front: Front) -> Diagnostic:
    *above, key = violation.path
    near = closest(str(key), violation.known)
    place = places.key(*violation.path)
    hint = f"did you mean `{near}`?" if near else f"the keys are {', '.join(f'`{name}`' for name in violation.known)}."
    message = f"There is no key `{key}` in {named(tuple(above))}; {hint}"
    return report(UNKNOWN_KEY, place, message, fixes=_respelled(front, violation.path, place, near))


def _respelled(front: Front, path: Path, place: Range, near: str | None) -> Iterator[Fix]:
    if near is not None:
        yield fix(f"Write {near}", [TextEdit(place, near)], safe=False)
    commented = comment_entry(front, path)
    if commented is not None:
        yield fix(f"Turn {path[-1]} into a comment", [commented], safe=False)
    else:
        yield from _removed(front, path, safe=False)


def _removed(front: Front, path: Path, *, safe: bool) -> Iterator[Fix]:
    edit = remove_entry(front, path)
    if edit is not None:
        yield fix(f"Remove {path[-1]}", [edit], safe=safe)


def _wrong(violation: Violation, places: FrontMatterPlaces, settings: WorkflowSettings, front: Front) -> Diagnostic:
    value: object = settings.document.values
    for step in violation.path:
        value = value[step]  # type: ignore[index]
    name = sentence_start(named(violation.path[1:] or ("workflow",)))
    message = f"{name} must be {violation.wanted}, not {shown(value)}."
    fixes = _rewritten(front, violation.path, value)
    return report(WRONG_VALUE, places.value(*violation.path), message, fixes=fixes)


def _rewritten(front: Front, path: Path, value: object) -> Iterator[Fix]:
    """Write a value that is allowed, or remove the entry."""
    fragment: Fragment = WORKFLOW
    for step in path[1:]:
        fragment = fragment_at(fragment, step)
    for better in better_values(fragment, value) if len(path) > 1 else [True]:
        edit = write_value(front, path, better)
        if edit is not None:
            key = f"{path[-1]}: " if isinstance(path[-1], str) else ""
            yield fix(f"Write {key}{flow(better)}", [edit], safe=False)
    if len(path) > 1 and isinstance(path[-1], str):
        yield from _removed(front, path, safe=False)


def _misspelled(settings: WorkflowSettings, places: FrontMatterPlaces) -> Iterator[Diagnostic]:
    for key in settings.document.values:
        if key not in FRONT_MATTER["properties"] and closest(key, ["workflow"]):
            place = places.key(key)
            message = f"`{key}` means nothing here, so what it holds does not count; did you mean `workflow`?"
            yield report(
                MISSPELLED_WORKFLOW,
                place,
                message,
                fixes=[fix("Write workflow", [TextEdit(place, "workflow")], safe=False)],
            )
