"""Tokens remembered across edits are those of a cold reading."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.strategies import MARKS, any_flowcharts
from tests.workflows import workflows

from merrow_analysis.check import Analyser, analyse
from merrow_analysis.ide.semantic_tokens import Token, TokenMemory, semantic_tokens
from merrow_analysis.text import Position, Range, TextEdit

PIECES = [
    *MARKS,
    "A",
    "\n",
    "\nsubgraph A\nend\n",
    " e1@--> ",
    ":::CustomOp",
    "class A DecisionOp\n",
    '"Custom<br/>(role: x)"',
]
edits = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 20), st.integers(0, 1), st.integers(0, 6), st.sampled_from(PIECES)),
    min_size=1,
    max_size=6,
)


def remembered(memory: TokenMemory, analyser: Analyser) -> list[Token]:
    found = memory.tokens(analyser.analysis())
    return [token._replace(line=token.line + block.line) for block, tokens in found for token in tokens]


@given(any_flowcharts | workflows(), edits)
@settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_remembered_tokens_are_the_cold_ones(text: str, changes: list[tuple[int, int, int, int, str]]) -> None:
    analyser, memory = Analyser(text), TokenMemory()
    remembered(memory, analyser)
    for line, column, more_lines, more, piece in changes:
        start, end = Position(line, column), Position(line + more_lines, column + more)
        analyser.edit(TextEdit(Range(start, end), piece))
        assert remembered(memory, analyser) == semantic_tokens(analyse(analyser.document.text))


def test_blocks_that_stay_keep_their_tokens() -> None:
    analyser, memory = Analyser("flowchart TD\nA[a] --> B\nC --> D\n"), TokenMemory()
    before = {block.text: tokens for block, tokens in memory.tokens(analyser.analysis())}
    analyser.edit(TextEdit(Range(Position(1, 2), Position(1, 3)), "b"))
    after = {block.text: tokens for block, tokens in memory.tokens(analyser.analysis())}
    assert after["C --> D\n"] is before["C --> D\n"]
    assert "A[b] --> B\n" in after
