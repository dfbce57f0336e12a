"""A change tried out where it reaches gives the verdict, the delta and the reason that typing the whole graph gives."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.optimizer.mutation_checks import CORPUS, EXAMPLES, needs_corpus, rough_workflows
from tests.optimizer.test_mutation_decisions import BRANCH
from tests.optimizer.test_mutation_preconditions import CODE, VOTE
from tests.workflows import workflows

from merrow_analysis.check import analyse
from merrow_optimizer.mutations.base import difference, terms_of
from merrow_optimizer.mutations.change import Change
from merrow_optimizer.mutations.moves import changes
from merrow_optimizer.mutations.subject import Subject, troubles

EXAMPLE_COUNT = int(os.environ.get("MERROW_TRIAL_EXAMPLES", "40"))
GRAPHS = sorted((CORPUS / "mmd").glob("*.mmd"))


def check_trial(change: Change) -> str:
    """Hold a trial against the whole graph; how it went."""
    trial = change.trial
    if trial is None:
        return "whole"
    subject, after = change.subject, change.after
    new = troubles(after) - subject.troubles
    assert trial.is_harmful == bool(new), f"{change.title}: {new}\n{subject.text}"
    if trial.is_harmful:
        return "harmful"
    terms = difference(subject.terms, terms_of(after))
    assert difference(*trial.terms) == terms, change.title
    for node in after.nodes:
        said = [(edge.source.id, edge.placed, edge.case, edge.source.kind) for edge in trial.incoming(node.id)]
        assert said == [(edge.source.id, edge.placed, edge.case, edge.source.kind) for edge in node.incoming]
        assert [arrival.source for arrival in change.arrivals(node.id)] == [
            edge.source.id for edge in node.flow.incoming
        ] or node.id not in trial.nodes
    return "harmless"


def check_some(text: str, most: int, random: Random) -> Counter[str]:
    analysis = analyse(text)
    if analysis.typed is None:
        return Counter()
    proposed = list(changes(Subject(analysis)))
    chosen = proposed if len(proposed) <= most else random.sample(proposed, most)
    return Counter(check_trial(change) for change in chosen)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    counted = check_some(path.read_text("utf-8"), 150, Random(1))
    assert counted["harmless"] + counted["harmful"] > 10 * counted["whole"]


@pytest.mark.parametrize("text", [CODE, BRANCH, VOTE], ids=["cases with values", "cases alone", "no cases"])
def test_decisions(text: str) -> None:
    counted = check_some(text, 10_000, Random(3))
    assert counted["harmless"] > 20
    assert counted["harmful"] > 20
    assert counted["harmless"] + counted["harmful"] > 10 * counted["whole"]


@needs_corpus
@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.stem)
def test_corpus(path: Path) -> None:
    check_some(path.read_text("utf-8"), 40, Random(2))


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=EXAMPLE_COUNT)
@given(workflows() | rough_workflows(), st.integers(0, 2**32))
def test_generated(text: str, seed: int) -> None:
    check_some(text, 40, Random(seed))
