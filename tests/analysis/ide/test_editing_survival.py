"""Whatever the text, every feature answers, and its places lie in the text."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.strategies import any_flowcharts
from tests.workflows import workflows

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.ide.colors import colors
from merrow_analysis.ide.folding import folds
from merrow_analysis.ide.inlay_hints import inlay_hints
from merrow_analysis.ide.links import links
from merrow_analysis.ide.names import call_hierarchy
from merrow_analysis.ide.names.definition import definition
from merrow_analysis.ide.names.linked_editing import linked_places
from merrow_analysis.ide.names.references import highlights, references
from merrow_analysis.ide.names.rename import RenameRefusedError, prepare_rename, rename
from merrow_analysis.ide.selection_ranges import selections
from merrow_analysis.ide.semantic_tokens import semantic_tokens
from merrow_analysis.ide.symbols import flattened, outline
from merrow_analysis.places.occurrences import occurrences_in
from merrow_analysis.syntax.tree import Header
from merrow_analysis.text import Position, Range, line_content, split_lines

surviving = settings(
    deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
texts = any_flowcharts | workflows() | st.text(max_size=60) | st.text(max_size=60).map(lambda t: "flowchart TD\n" + t)


def inside(place: Range, lines: list[str]) -> bool:
    return place.start <= place.end and all(
        0 <= position.line <= len(lines)
        and 0 <= position.column <= (len(lines[position.line]) if position.line < len(lines) else 0)
        for position in place
    )


def ask_everything(analysis: Analysis, lines: list[str]) -> None:
    whole = Range(Position(0, 0), Position(len(lines), 0))
    for entry, _ in flattened(outline(analysis)):
        assert inside(entry.range, lines)
        assert entry.range.start <= entry.name_range.start <= entry.name_range.end <= entry.range.end
    found = folds(analysis)
    assert found == sorted(found, key=lambda fold: (fold.first, fold.last))
    assert all(0 <= fold.first < fold.last <= len(lines) for fold in found)
    assert all(inside(link.range, lines) for link in links(analysis))
    assert all(inside(place.range, lines) for place in colors(analysis))
    assert all(inside(Range(hint.position, hint.position), lines) for hint in inlay_hints(analysis, whole))
    for node in analysis.flow.nodes:
        call_hierarchy.incoming(analysis, node)
        call_hierarchy.outgoing(analysis, node)


@given(texts)
@surviving
def test_whole_documents(text: str) -> None:
    ask_everything(analyse(text), split_lines(text))


@given(texts)
@surviving
def test_tokens_are_sorted_and_never_overlap(text: str) -> None:
    lines = split_lines(text)
    end = (0, 0)
    for token in semantic_tokens(analyse(text)):
        assert (token.line, token.column) >= end
        assert token.length > 0
        end = (token.line, token.column + token.length)
        assert end[1] <= len(line_content(lines[token.line]))


@given(texts, st.integers(0, 30), st.integers(0, 40))
@surviving
def test_any_position(text: str, line: int, column: int) -> None:
    analysis = analyse(text)
    lines = split_lines(text)
    position = Position(line, column)
    definition(analysis, position)
    places = [place.range for place in references(analysis, position)]
    assert places == [mark.range for mark in highlights(analysis, position)]
    assert all(inside(place, lines) for place in places)
    linked = linked_places(analysis, position)
    assert linked is None or set(linked.ranges) == set(places)
    call_hierarchy.item_at(analysis, position)
    grown = selections(analysis, position)
    assert grown
    for inner, outer in pairwise(grown):
        assert outer.start <= inner.start <= inner.end <= outer.end
        assert inner != outer
    try:
        prepared = prepare_rename(analysis, position)
    except RenameRefusedError:
        prepared = None
    try:
        renamed = rename(analysis, position, "renamed")
    except RenameRefusedError:
        assert prepared is None or inside(prepared.range, lines)
    else:
        assert prepared is not None
        assert inside(prepared.range, lines)
        assert all(inside(edit.range, lines) for edit in renamed.edits)


@given(texts)
@example("flowchart\nA;\x1f")
@example("flowchart\nA; B;]")
@surviving
def test_statements_of_one_block_never_overlap(text: str) -> None:
    for block in analyse(text).diagram.blocks:
        end = 0
        for statement in block.statements:
            if isinstance(statement, Header):
                continue  # A problem on the rest of its line starts at the header, too.
            assert statement.span[0] >= end
            end = statement.span[1]


@given(texts)
@surviving
def test_names_of_one_block_never_overlap(text: str) -> None:
    analysis = analyse(text)
    for block in analysis.diagram.blocks:
        end = 0
        for place in occurrences_in(analysis, block):
            assert place.span[0] >= end
            end = place.span[1]
