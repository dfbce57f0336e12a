"""A mutation is refused for what a rule finds, with the precondition that the rule's flags name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.new_rule import CODE, SUMMARY, added
from tests.optimizer.test_mutation_preconditions import VOTE

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.registry import Flags, Rule, Scope
from merrow_analysis.rules.reporting import report
from merrow_optimizer.mutations.base import Move, MoveRefusal
from merrow_optimizer.mutations.moves import find, moves


def customs_in_a_row(rule: Rule, context: GraphContext) -> Iterator[Diagnostic]:
    """Custom nodes that read another one: nothing else is wrong with them."""
    for node in context.graph.nodes:
        for edge in node.incoming:
            if {None if end.spec is None else end.spec.name for end in (node, edge.source)} == {"Custom"}:
                yield report(rule, node.flow.range, f"{node.id} reads {edge.source.id}.")


INSERTED = "Insert Custom on PROBLEM -> A"


@pytest.mark.slow
@pytest.mark.parametrize("scope", [Scope.NODE, Scope.GRAPH, Scope.EDGE])
@pytest.mark.parametrize(
    ("flags", "precondition"), [(Flags.PORTS, "types"), (Flags.PATHS, "bridge"), (Flags.NONE, "capacity")]
)
def test_a_rule_refuses_what_would_break_it(scope: Scope, flags: Flags, precondition: str) -> None:
    analysis = analyse(VOTE)
    before = {move.title: move for move in moves(analysis)}
    assert INSERTED in before
    with added(customs_in_a_row, scope, flags):
        answer = find(analysis, before[INSERTED].id)
        assert isinstance(answer, MoveRefusal)
        assert answer.precondition == precondition
        assert answer.reason == f"At A this would be wrong ({CODE}): {SUMMARY}"
        assert INSERTED not in {move.title for move in moves(analysis)}
    assert isinstance(find(analysis, before[INSERTED].id), Move)


@pytest.mark.parametrize(("scope", "flags"), [(Scope.EDGE, Flags.SPELLING), (Scope.PARAMETER, Flags.NONE)])
def test_a_rule_about_what_is_written_refuses_nothing(scope: Scope, flags: Flags) -> None:
    analysis = analyse(VOTE)
    before = {move.id for move in moves(analysis)}
    with added(customs_in_a_row, scope, flags):
        assert {move.id for move in moves(analysis)} == before
