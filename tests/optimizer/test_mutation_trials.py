"""A change inferred where it reaches gives the graph, the verdict and the difference that reading the whole graph cold gives."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.optimizer.mutation_checks import CORPUS, EXAMPLES, rough_workflows
from tests.optimizer.test_mutation_decisions import BRANCH
from tests.optimizer.test_mutation_preconditions import CODE, VOTE
from tests.workflows import workflows

from merrow_analysis.check import analyse
from merrow_analysis.graph.typed import build
from merrow_optimizer.mutations.base import difference, terms_of
from merrow_optimizer.mutations.change import Mutation
from merrow_optimizer.mutations.moves import changes
from merrow_optimizer.mutations.original import Original, troubles

pytestmark = pytest.mark.thinned(8, "mutations of the corpus")

GRAPHS = sorted((CORPUS / "mmd").glob("*.mmd"))


def check_trial(change: Mutation) -> str:
    """Compare what is inferred from a change, and said of it, with a cold reading of the whole graph; how it went."""
    original, after = change.original, change.after
    cold = build(after.flow, original.analysis.settings)
    for one, other in zip(after.nodes, cold.nodes, strict=True):
        assert (one.id, repr(one.resolution), one.cases) == (other.id, repr(other.resolution), other.cases), (
            change.title
        )
        said = [(edge.source.id, edge.placed, edge.case, edge.source.kind) for edge in one.incoming]
        assert said == [(edge.source.id, edge.placed, edge.case, edge.source.kind) for edge in other.incoming]
        assert one.placement.findings == other.placement.findings
    assert [after.node(n).id for n in after.order] == [cold.node(n).id for n in cold.order], change.title
    new = troubles(cold) - original.troubles
    assert change.new_troubles == new, f"{change.title}: {new}\n{original.workflow_text.text}"
    assert change.difference == replace(
        difference(terms_of(original.typed), terms_of(cold)),
        added_prompts=change.difference.added_prompts,
        removed_prompts=change.difference.removed_prompts,
    )
    if change.does_harm is None:
        return "whole"
    assert change.does_harm == bool(new), f"{change.title}: {new}\n{original.workflow_text.text}"
    return "harmful" if new else "harmless"


def check_some(text: str, most: int, random: Random) -> Counter[str]:
    analysis = analyse(text)
    if analysis.typed is None:
        return Counter()
    proposed = list(changes(Original(analysis)))
    chosen = proposed if len(proposed) <= most else random.sample(proposed, most)
    return Counter(check_trial(change) for change in chosen)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    counted = check_some(path.read_text("utf-8"), 38, Random(1))
    assert counted["harmless"] + counted["harmful"] > 10 * counted["whole"]


@pytest.mark.parametrize("text", [CODE, BRANCH, VOTE], ids=["cases with values", "cases alone", "no cases"])
def test_decisions(text: str) -> None:
    counted = check_some(text, 10_000, Random(3))
    assert counted["harmless"] > 20
    assert counted["harmful"] > 20
    assert counted["harmless"] + counted["harmful"] > 10 * counted["whole"]


@pytest.mark.shared("corpus")
@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.stem)
def test_corpus(path: Path) -> None:
    counted = check_some(path.read_text("utf-8"), 10, Random(2))
    # A file that is not a workflow has nothing to change.
    assert counted or analyse(path.read_text("utf-8")).typed is None


def test_generated() -> None:
    counted = Counter[str]()

    @settings(suppress_health_check=list(HealthCheck), max_examples=10)
    @given(workflows() | rough_workflows(), st.integers(0, 2**32))
    def check(text: str, seed: int) -> None:
        counted.update(check_some(text, 40, Random(seed)))

    check()
    assert counted["harmless"] > 10
    assert counted["harmful"] > 10
    assert counted["harmless"] + counted["harmful"] > 10 * counted["whole"]
