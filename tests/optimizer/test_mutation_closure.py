"""Every safe mutation of a valid workflow is valid, does what it declares, and can be taken back."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.optimizer.mutation_checks import (
    CORPUS,
    EXAMPLES,
    check_mutant,
    check_undone,
    needs_corpus,
    rough_workflows,
)
from tests.workflows import workflows

from merrow_analysis.check import analyse
from merrow_optimizer.mutations.moves import DEFAULT, draw, moves
from merrow_optimizer.mutations.names import ADDITION

GRAPHS = sorted((CORPUS / "mmd").glob("*.mmd"))
SMALL = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=25)


def check_all(text: str, undo: int = 3) -> int:
    """Check every move; of the additions every third one's way back, which costs an enumeration each."""
    before = analyse(text)
    made = 0
    for made, move in enumerate(moves(before), 1):
        mutant, after = check_mutant(before, text, move)
        if move.operator == ADDITION and before.is_valid and made % undo == 0:
            check_undone(before, move, mutant, after)
    return made


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    assert check_all(path.read_text("utf-8"), undo=5) > 0


@needs_corpus
@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.stem)
def test_corpus(path: Path) -> None:
    check_all(path.read_text("utf-8"), undo=5)


@SMALL
@given(workflows() | rough_workflows(), st.integers(0, 2**32))
def test_random_chains(text: str, seed: int) -> None:
    random = Random(seed)
    analysis = analyse(text)
    assume(analysis.is_valid)
    for _ in range(8):
        move = draw(analysis, random, DEFAULT)
        if move is None:
            return
        mutant, after = check_mutant(analysis, text, move)
        if move.operator == ADDITION:
            check_undone(analysis, move, mutant, after)
        text, analysis = mutant, after


@SMALL
@given(rough_workflows(), st.data())
def test_half_typed(text: str, data: st.DataObject) -> None:
    lines = text.splitlines(keepends=True)
    for _ in range(data.draw(st.integers(1, 3))):
        number = data.draw(st.integers(0, len(lines) - 1))
        line = lines[number].rstrip("\r\n")
        cut = data.draw(st.integers(0, len(line)))
        lines[number] = line[:cut] + lines[number][len(line) :]
    broken = "".join(lines)
    before = analyse(broken)
    assume(before.typed is not None)
    random = Random(data.draw(st.integers(0, 2**32)))
    for _ in range(5):
        move = draw(before, random, DEFAULT)
        if move is None:
            return
        check_mutant(before, broken, move)
