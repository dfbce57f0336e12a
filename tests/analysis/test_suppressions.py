"""Comments that silence rules: what they speak of, and what is said of those that don't."""

from __future__ import annotations

import pytest

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.rules.configuration import parse_configuration
from merrow_analysis.rules.key_rules import CONFLICT, UNKNOWN_KEY
from merrow_analysis.rules.registry import Rule
from merrow_analysis.suppressions import apply
from merrow_analysis.syntax.parser import parse_diagram
from merrow_analysis.text import Position, Range, apply_edits

assert CONFLICT.severity is Severity.WARNING


def at(line: int, rule: Rule = UNKNOWN_KEY) -> Diagnostic:
    return Diagnostic(rule.code, rule.name, rule.severity, "x", Range(Position(line, 2), Position(line, 3)))


def run(text: str, *found: Diagnostic) -> tuple[list[int], list[tuple[str, int]]]:
    kept, extra = apply(parse_diagram(text).blocks, found)
    return [d.range.start.line for d in kept], [(d.code, d.range.start.line) for d in extra]


@pytest.mark.parametrize(
    "what", ["ignore[MW304]", "ignore [ MW3 ] because", "IGNORE[unknown-parameter, MW301]", "ignore"]
)
def test_the_next_statement_is_silenced_and_no_other(what: str) -> None:
    text = f"flowchart TD\n  %% merrow: {what}\n\n  %% another comment\n  A --> B\n  C --> D\n"
    kept, extra = run(text, at(4), at(5))
    assert kept == [5]
    assert {code for code, _ in extra} <= {"MW512"}
    before = text.replace("TD\n", "TD\n  E --> F\n")
    assert run(before, at(1), at(5))[0] == [1]


@pytest.mark.parametrize(
    "comment",
    [
        "merrow: ignor[MW304]",
        "merrow:",
        "merrow: ignore[MW304",
        "merrow: ignore[]",
        "merrow: ignore-line[MW304]",
        "merrow: off",
    ],
)
def test_what_cannot_be_read_is_reported(comment: str) -> None:
    assert run(f"flowchart TD\n%% {comment}\nA --> B\n", at(2)) == ([2], [("MW510", 1)])


@pytest.mark.parametrize("comment", ["merrow is nice", "not merrow: ignore", "merrows: ignore", "TODO merrow: x"])
def test_other_comments_are_left_alone(comment: str) -> None:
    assert run(f"flowchart TD\n%% {comment}\nA --> B\n", at(2)) == ([2], [])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("%% merrow: ignore[MW304, MW306]\nA --> B\n", "%% merrow: ignore[MW304]\nA --> B\n"),
        ("%% merrow: ignore[MW306, MW304]\nA --> B\n", "%% merrow: ignore[MW304]\nA --> B\n"),
        ("%% merrow: ignore[MW306] why\nA --> B\n", "A --> B\n"),
    ],
)
def test_the_fix_removes_what_is_unused(before: str, after: str) -> None:
    text = "flowchart TD\n" + before
    _, [unused] = apply(parse_diagram(text).blocks, [at(2)])
    fixed = apply_edits(text, unused.fixes[0].edits)
    assert fixed == "flowchart TD\n" + after
    assert run(fixed, at(fixed.count("\n") - 1))[1] == []


REFUSED = """flowchart TD
    PROBLEM([Problem]):::Interface
    A@{ op: Custom, prompt: x }
    RETURN([Answer]):::Interface
    PROBLEM --> A --> RETURN
    A B
    classDef Interface fill:#e2e2f2
"""


@pytest.mark.parametrize("comment", ["ignore[MW001]", "ignore[MW0]", "ignore", "ignore[syntax-error]"])
def test_no_comment_suppresses_what_mermaid_refuses(comment: str) -> None:
    for text in (
        REFUSED.replace("    A B", f"    %% merrow: {comment}\n    A B"),
        REFUSED.replace("    A B", f"    %% merrow: {comment.replace('ignore', 'ignore-file')}\n    A B"),
    ):
        analysis = analyse(text)
        assert "MW001" in [one.code for one in analysis.diagnostics]
        assert not analysis.is_valid
        (unused,) = [one for one in analysis.diagnostics if one.code == "MW512"]
        assert apply_edits(text, unused.fixes[0].edits) == REFUSED


def test_a_refusal_stays_an_error_whatever_the_configuration_shows() -> None:
    for settings in ('ignore = ["MW001"]', '[severity]\nMW001 = "hint"'):
        analysis = analyse(REFUSED, config=parse_configuration(settings))
        assert [one.code for one in analysis.errors] == ["MW001"]
        assert not analysis.is_valid


def test_a_suppression_of_a_refusal_is_reported_in_any_flowchart() -> None:
    text = "flowchart TD\n    %% merrow: ignore[MW001, MW402]\n    A B\n"
    assert [(one.code, one.range.start.line) for one in analyse(text).diagnostics] == [("MW512", 1), ("MW001", 2)]
    (vain, _) = analyse(text).diagnostics
    assert "MW001" in vain.message
    assert "can't be ignored" in vain.message


def test_an_unknown_rule_that_would_silence_nothing_is_removed() -> None:
    text = "flowchart TD\n%% merrow: ignore[MW3O4]\nA --> B\n"
    _, [unknown] = apply(parse_diagram(text).blocks, [])
    assert apply_edits(text, unknown.fixes[0].edits) == "flowchart TD\nA --> B\n"
