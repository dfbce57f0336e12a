"""A rule belongs to the analysis as soon as it is registered, and its findings are kept as long as its scope says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from tests.new_rule import CODE, LOUD, NAME, added, loud_ids

from merrow_analysis.check import Analyser, analyse
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.rules.configuration import parse_configuration
from merrow_analysis.rules.context import GraphContext, TextContext
from merrow_analysis.rules.registry import Rule, Scope, all_rules, find_rule
from merrow_analysis.rules.reporting import report
from merrow_analysis.text import Position, Range, TextEdit, split_lines

GRAPH_SCOPES = [Scope.NODE, Scope.GRAPH, Scope.EDGE, Scope.PARAMETER]
NEW_EDGE = ("|input| LOUD", "|input| LOUD & RETURN")
NEW_ROLE = ("role: solver", "role: thinker")
NEW_OPERATOR = ("Custom<br/>", "AnswerGenerate<br/>")
NEW_COMMENT = ("%% note", "%% another note")
NEW_LINE = ("note\n", "note\n\n")


def found(text: str, configuration: str = "") -> list[Diagnostic]:
    config = parse_configuration(configuration)
    return [one for one in analyse(text, config=config).diagnostics if one.code == CODE]


def test_a_new_rule_is_found_and_an_old_one_is_not() -> None:
    with added(loud_ids, Scope.NODE):
        [one] = found(LOUD)
        assert (one.name, one.severity, one.range.start.line) == (NAME, Severity.WARNING, 2)
        assert find_rule(NAME) is find_rule(CODE) is not None
    assert found(LOUD) == []
    assert find_rule(CODE) is None
    assert CODE not in {rule.code for rule in all_rules()}


@pytest.mark.parametrize("scope", GRAPH_SCOPES)
def test_a_rule_of_any_scope_of_a_graph_is_found_in_workflows_alone(scope: Scope) -> None:
    with added(loud_ids, scope) as given:
        assert len(found(LOUD)) == 1
        assert all(isinstance(context, GraphContext) for context in given)
        del given[:]
        assert analyse("flowchart TD\n    LOUD --> B\n").diagnostics == []
        assert given == []


def test_a_rule_about_the_text_is_found_in_any_flowchart() -> None:
    def first_node(rule: Rule, context: TextContext) -> Iterator[Diagnostic]:
        place = next(iter(context.flow.nodes.values())).range
        yield report(rule, place, "a workflow" if context.graph is not None else "a flowchart")

    with added(first_node, Scope.TEXT):
        assert [one.message for one in found(LOUD)] == ["a workflow"]
        assert [one.message for one in found("flowchart TD\n    A --> B\n")] == ["a flowchart"]


@pytest.mark.parametrize("word", [CODE, NAME, "MW1"])
def test_a_new_rule_is_suppressed_and_configured_as_any_other(word: str) -> None:
    with added(loud_ids, Scope.NODE):
        assert found(LOUD.replace("    LOUD[", f"    %% merrow: ignore[{word}] so be it\n    LOUD[")) == []
        assert found(LOUD.replace("TD\n", f"TD\n%% merrow: ignore-file[{word}] so be it\n")) == []
        assert found(LOUD, f'ignore = ["{word}"]') == []
        assert len(found(LOUD, f'select = ["{word}"]')) == 1
        assert found(LOUD, 'select = ["MW3"]') == []
        [one] = found(LOUD, f'[severity]\n{word} = "error"')
        assert one.severity is Severity.ERROR


@pytest.mark.parametrize(
    ("edit", "kept"),
    [
        (NEW_EDGE, {Scope.NODE, Scope.PARAMETER}),
        (NEW_ROLE, {Scope.NODE, Scope.GRAPH, Scope.EDGE}),
        (NEW_OPERATOR, set()),
        (NEW_COMMENT, set(GRAPH_SCOPES)),
        (NEW_LINE, set()),
    ],
    ids=["edge", "parameter", "operator", "comment", "line"],
)
@pytest.mark.parametrize("scope", [*GRAPH_SCOPES, Scope.TEXT])
def test_findings_are_kept_as_the_scope_says(scope: Scope, edit: tuple[str, str], kept: set[Scope]) -> None:
    def silent(_rule: Rule, _context: object) -> Iterable[Diagnostic]:
        return ()

    with added(silent, scope) as given:
        analyser = Analyser(LOUD)
        analyser.analysis()
        before = len(given)
        analyser.edit(replacing(LOUD, *edit))
        analyser.analysis()
        assert (len(given) == before) == (scope in kept)


def test_what_a_rule_finds_after_edits_is_what_it_finds_cold() -> None:
    def counted(rule: Rule, context: GraphContext) -> Iterator[Diagnostic]:
        for node in context.graph.nodes:
            role = node.resolution.parameters.get("role")
            looked_at = {
                Scope.NODE: node.kind if node.spec is None else node.spec.name,
                Scope.GRAPH: len(context.graph.edges),
                Scope.EDGE: [edge.source.id for edge in node.incoming],
                Scope.PARAMETER: None if role is None else role.value,
            }
            yield report(rule, node.flow.range, f"{looked_at[rule.scope]}")

    for scope in GRAPH_SCOPES:
        with added(counted, scope):
            text = LOUD
            analyser = Analyser(text)
            analyser.analysis()
            for old, new in (NEW_EDGE, NEW_ROLE, NEW_COMMENT, NEW_OPERATOR, NEW_LINE):
                analyser.edit(replacing(text, old, new))
                text = text.replace(old, new, 1)
                warm = [one for one in analyser.analysis().diagnostics if one.code == CODE]
                assert warm == found(text), f"{scope} after {new!r}"


def replacing(text: str, old: str, new: str) -> TextEdit:
    """The edit that writes ``new`` in the place of the first ``old``."""
    at = text.index(old)
    lines = split_lines(text[:at] + "x")
    start = Position(len(lines) - 1, len(lines[-1]) - 1)
    return TextEdit(Range(start, Position(start.line, start.column + len(old))), new)
