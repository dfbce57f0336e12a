"""Mutations and crossover of workflows with records, unions, Pass and Select."""

from __future__ import annotations

import pytest
from tests.optimizer.mutation_checks import check_mutant
from tests.optimizer.test_crossover import check

from merrow_analysis.check import analyse
from merrow_optimizer.crossover.children import children
from merrow_optimizer.mutations.moves import moves
from merrow_optimizer.mutations.operator_names import ADDITION, SUBSTITUTION

TEXT = """---
workflow:
  types:
    Place: {city: Text, rank: Number}
    Search: {query: Text, place: Place}
    Step: Search | Answer
  prompts: {think: Think., find: Find., places: List., write: Write.}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    THINK["Custom<br/>(role: think, returns: Step)"]:::CustomOp
    PLACES["Custom<br/>(role: places, returns: Place, samples: 3)"]:::CustomOp
    BEST["Select<br/>(by: rank)"]:::SelectOp
    KEEP["Pass<br/>"]:::PassOp
    D{which?}:::DecisionOp
    WRITE["Custom<br/>(role: write)"]:::CustomOp
    RETURN([Return]):::Interface
    PROBLEM --> THINK --> D
    D -->|search:place.city:input| WRITE
    D -->|Answer| RETURN
    PROBLEM --> PLACES --> BEST
    BEST -->|best:| KEEP
    KEEP -->|city:input| WRITE
    WRITE --> RETURN
    classDef Interface fill:#e2e2f2
    classDef CustomOp fill:#d0e1f9
    classDef SelectOp fill:#f9e4b7
    classDef PassOp fill:#f5f5f5
    classDef DecisionOp fill:#ffffff
"""


def test_every_move_keeps_types_and_adds_nothing_that_only_computes() -> None:
    before = analyse(TEXT)
    assert before.is_valid
    made = list(moves(before))
    assert {ADDITION, SUBSTITUTION} & {move.operator for move in made}
    for move in made:
        _, after = check_mutant(before, TEXT, move)
        assert after.typed is not None
        computing = [node for node in after.typed.nodes if node.spec is not None and node.spec.effect == "none"]
        assert len(computing) <= 3, move.title


CHAIN = """---
workflow:
  types:
    Place: {city: Text, rank: Number}
    Search: {query: Text, place: Place}
    Step: Search | Answer
  prompts: {plan: Plan., think: Think., write: Write., last: Shorten.}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    PLAN["Custom<br/>(role: plan)"]:::CustomOp
    THINK["Custom<br/>(role: think, returns: Step)"]:::CustomOp
    D{which?}:::DecisionOp
    WRITE["Custom<br/>(role: write)"]:::CustomOp
    LAST["Custom<br/>(role: last)"]:::CustomOp
    RETURN([Return]):::Interface
    PROBLEM --> PLAN --> THINK --> D
    D -->|Search:place.city:input| WRITE
    D -->|Answer:input| WRITE
    WRITE --> LAST --> RETURN
    classDef Interface fill:#e2e2f2
    classDef CustomOp fill:#d0e1f9
    classDef DecisionOp fill:#ffffff
"""
OTHER = (
    CHAIN.replace("Think.", "Reason.")
    .replace("Plan.", "Prepare.")
    .replace("Write.", "Answer.")
    .replace("LAST", "END_IT")
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "apart"),
    [
        (
            "Place: {city: Text, rank: Number}",
            "Place: {city: Text, rank: Number, more: 'list[Text]'}",
            {"Place", "Search", "Step"},
        ),
        ("Search: {query: Text, place: Place}", "Search: {query: Answer, place: Place}", {"Search", "Step"}),
        ("Step: Search | Answer", "Step: Answer | Search", {"Step"}),
        ("Place", "Place", set()),
    ],
)
def test_types_that_mean_something_else_are_told_apart(old: str, new: str, apart: set[str]) -> None:
    first, second = analyse(CHAIN), analyse(OTHER.replace(old, new))
    assert first.is_valid
    assert second.is_valid
    both: set[str] = set()
    for child in children(first, second):
        after = check(child, first, second)
        names = set(after.settings.types)
        both |= {name for name in ("Place", "Search", "Step") if sum(one.startswith(name) for one in names) == 2}
        if {"Place_2", "Search_2"} <= names:
            assert after.settings.types["Search_2"]["place"] == "Place_2"
    assert both == apart
