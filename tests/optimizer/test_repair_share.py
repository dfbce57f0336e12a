"""The share of seeded defects that is repaired: the corpus, each kind alone, pairs and triples on valid workflows."""

from __future__ import annotations

from random import Random

import pytest
from tests.optimizer.seeded_repairs import combined, of_corpus, share_of, singles

pytestmark = pytest.mark.shared("corpus")


def test_every_defect_of_the_corpus_is_repaired() -> None:
    share = share_of(of_corpus())
    assert share.count == 20
    assert share.valid == 1


@pytest.mark.slow
def test_single_defects_are_repaired() -> None:
    share = share_of(singles(Random(1), 3))
    assert share.count >= 50
    assert share.valid >= 0.95
    assert share.same >= 0.5


@pytest.mark.parametrize("of", [2, 3])
@pytest.mark.thinned(16)
def test_several_defects_at_once_are_repaired(of: int) -> None:
    share = share_of(combined(Random(of), 6, of))
    assert share.valid >= 0.8
