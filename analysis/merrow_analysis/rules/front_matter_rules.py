"""What is wrong with the ``workflow:`` block of the front matter."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.definitions.schema import FRONT_MATTER
from merrow_analysis.definitions.settings import WorkflowSettings
from merrow_analysis.definitions.validation import Path, Violation, shown
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.rules.configuration_rules import MACHINE_SETTING, machine_setting_message
from merrow_analysis.rules.context import TextContext
from merrow_analysis.rules.registry import Family, Scope
from merrow_analysis.rules.reporting import fix, report
from merrow_analysis.suggest import closest
from merrow_analysis.syntax.tree import Block, FrontMatter
from merrow_analysis.text import Range, TextEdit

_FAMILY = Family[TextContext](Scope.TEXT)
UNKNOWN_KEY = _FAMILY.rule(
    "MW310", "unknown-setting", "The `workflow:` block has a key that means nothing.", Severity.ERROR, fix="sometimes"
)
WRONG_VALUE = _FAMILY.rule(
    "MW311",
    "wrong-setting-value",
    "A value in the `workflow:` block is of the wrong kind or out of range.",
    Severity.ERROR,
)
MISSPELLED_WORKFLOW = _FAMILY.rule(
    "MW312",
    "misspelled-workflow-key",
    "A key of the front matter looks like `workflow` misspelled.",
    Severity.WARNING,
    fix="always",
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
        yield _unknown(violation, places) if violation.kind == "unknown" else _wrong(violation, places, settings)
    for key in settings.machine_keys:
        yield report(MACHINE_SETTING, places.key("workflow", key), machine_setting_message(key))
    if not settings.declared and not settings.opted_out:
        yield from _misspelled(settings, places)


def _unknown(violation: Violation, places: FrontMatterPlaces) -> Diagnostic:
    *above, key = violation.path
    near = closest(str(key), violation.known)
    place = places.key(*violation.path)
    where = ".".join(str(step) for step in above)
    hint = f"did you mean `{near}`?" if near else f"the keys are {', '.join(f'`{name}`' for name in violation.known)}."
    fixes = [fix(f"Write {near}", [TextEdit(place, near)], safe=False)] if near else []
    return report(UNKNOWN_KEY, place, f"There is no key `{key}` in `{where}`; {hint}", fixes=fixes)


def _wrong(violation: Violation, places: FrontMatterPlaces, settings: WorkflowSettings) -> Diagnostic:
    value: object = settings.document.values
    for step in violation.path:
        value = value[step]  # type: ignore[index]
    name = ".".join(str(step) for step in violation.path[1:]) or "workflow"
    message = f"`{name}` must be {violation.wanted}, not {shown(value)}."
    return report(WRONG_VALUE, places.value(*violation.path), message)


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
