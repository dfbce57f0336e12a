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
    rough_workflows,
)
from tests.workflows import workflows

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Severity
from merrow_optimizer.mutations.moves import DEFAULT, draw, moves
from merrow_optimizer.mutations.operator_names import ADDITION

pytestmark = pytest.mark.thinned(8, "mutations of the corpus")

GRAPHS = sorted((CORPUS / "mmd").glob("*.mmd"))
SMALL = settings(
    suppress_health_check=[check for check in HealthCheck if check is not HealthCheck.filter_too_much],
    max_examples=6,
)
"""An example in which nothing is checked does not count, and too many of them are a failure."""


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


@pytest.mark.shared("corpus")
@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.stem)
def test_corpus(path: Path) -> None:
    check_all(path.read_text("utf-8"), undo=5)


@SMALL
@given(workflows() | rough_workflows(), st.integers(0, 2**32))
def test_random_chains(text: str, seed: int) -> None:
    random = Random(seed)
    analysis = analyse(text)
    assume(analysis.is_valid)
    for made in range(8):
        move = draw(analysis, random, DEFAULT)
        if move is None:
            assume(made > 0)
            break
        mutant, after = check_mutant(analysis, text, move)
        if move.operator == ADDITION:
            check_undone(analysis, move, mutant, after)
        text, analysis = mutant, after


def with_suppressions(text: str) -> str:
    """The text with a comment above each line with a finding that suppresses it."""
    found = analyse(text).diagnostics
    lines = text.splitlines(keepends=True)
    for line in sorted({one.range.start.line for one in found}, reverse=True):
        codes = sorted({one.code for one in found if one.range.start.line == line})
        lines.insert(line, f"%% merrow: ignore[{', '.join(codes)}] on purpose\n")
    return "".join(lines)


UNLABELLED = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Return]):::Interface
    classDef Interface fill:#e2e2f2
    A["Custom<br/>(role: one)"]:::CustomOp
    V["Programmer<br/>"]
    F["Format<br/>"]
    classDef CustomOp fill:#d0e1f9
    PROBLEM --> A
    PROBLEM --> V
    A -->|analysis| V
    V --> F
    PROBLEM -->|problem| F
    F --> RETURN
"""


def test_what_a_comment_suppresses_is_looked_at_again_in_each_mutant() -> None:
    """A comment that no longer suppresses anything is a warning of its own, which no mutation may bring."""
    text = with_suppressions(UNLABELLED)
    before = analyse(text)
    assert "merrow: ignore[MW202" in text
    assert before.is_valid
    assert not [one for one in before.diagnostics if one.severity is Severity.WARNING]
    made = list(moves(before))
    assert len(made) > 10
    for move in made:
        check_mutant(before, text, move)
    assert len(made) < len(list(moves(analyse(UNLABELLED))))


@SMALL
@given(workflows() | rough_workflows(), st.data())
def test_files_with_suppressions_and_broken_statements(text: str, data: st.DataObject) -> None:
    lines = text.splitlines(keepends=True)
    ending = "\r\n" if lines[-1].endswith("\r\n") else "\n"
    lines[-1] = lines[-1].rstrip("\r\n") + ending
    first = next(number for number, line in enumerate(lines) if line.startswith(("flowchart", "graph"))) + 1
    codes = st.sampled_from(["MW202", "MW402", "MW404", "MW101", "MW3", "MW2, MW4"])
    for _ in range(data.draw(st.integers(1, 3))):
        remark = data.draw(st.sampled_from(["%% merrow: ignore[{}] on purpose", "A[x[y] {}", "--> {}"]))
        remark = remark.format(data.draw(codes))
        lines.insert(data.draw(st.integers(first, len(lines))), f"    {remark}{ending}")
    changed = "".join(lines)
    before = analyse(changed)
    assume(before.typed is not None)
    random = Random(data.draw(st.integers(0, 2**32)))
    for made in range(4):
        move = draw(before, random, DEFAULT)
        if move is None:
            assume(made > 0)
            break
        mutant, after = check_mutant(before, changed, move)
        known = {(one.code, one.message) for one in before.diagnostics}
        new = [one for one in after.diagnostics if one.severity is not Severity.HINT]
        assert [one for one in new if (one.code, one.message) not in known] == [], mutant


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
    for made in range(5):
        move = draw(before, random, DEFAULT)
        if move is None:
            assume(made > 0)
            break
        check_mutant(before, broken, move)
