"""What is remembered of a text lives as long as the text: no memory is too small for a large one or outlives a closed one."""

from __future__ import annotations

import gc
from collections import Counter

import pytest
from tests.growth.steps import forget, steps

from merrow_analysis.check import Analyser
from merrow_analysis.shared_values import RecentValues, SharedValues
from merrow_analysis.text import Position, Range, TextEdit

LABEL = '    N{}["Custom<br/>(role: solver_{})"]:::CustomOp'


def _chain(nodes: int) -> list[str]:
    """The lines of a workflow whose nodes all say something else."""
    edges = ["    PROBLEM --> N0", *(f"    N{number} --> N{number + 1}" for number in range(nodes - 1))]
    ends = ["    PROBLEM([Problem]):::Interface", "    RETURN([Return]):::Interface", f"    N{nodes - 1} --> RETURN"]
    return ["flowchart TD", *ends, *(LABEL.format(number, number) for number in range(nodes)), *edges]


def _keystroke(analyser: Analyser, line: int, column: int, letter: str) -> None:
    place = Position(line, column)
    analyser.edit(TextEdit(Range(place, place), letter))
    analyser.analysis()


@pytest.mark.slow
def test_a_keystroke_in_a_huge_text_takes_no_more_for_each_node_than_in_a_large_one() -> None:
    taken: dict[int, int] = {}
    for nodes in (5_500, 22_000):
        lines = _chain(nodes)
        analyser = Analyser("\n".join(lines) + "\n")
        analyser.analysis()
        row = 4 + nodes // 2
        column = lines[row].index("solver")
        _keystroke(analyser, row, column, "x")
        taken[nodes] = steps(lambda: _keystroke(analyser, row, column, "y"))  # noqa: B023
    assert taken[22_000] < 6 * taken[5_500]


def test_nothing_of_a_text_is_remembered_when_nobody_has_it_any_more() -> None:
    def kept() -> Counter[str]:
        forget()
        gc.collect()
        return Counter(type(one).__name__ for one in gc.get_objects())

    before = kept()
    analyser = Analyser("\n".join(_chain(1_500)) + "\n")
    assert len(analyser.analysis().errors) == 0
    del analyser
    more = kept() - before
    assert more["Resolution"] + more["NodeText"] + more["Placement"] + more["Block"] < 100, more.most_common(8)


def test_shared_values_stay_while_somebody_has_them() -> None:
    class Value:
        pass

    values: SharedValues[int, Value] = SharedValues()
    held = {number: values.keep(number, Value()) for number in range(5_000)}
    assert all(values.get(number) is one for number, one in held.items())
    held.clear()
    assert values.get(4_999) is not None
    assert values.get(0) is None


def test_recent_values_are_the_newest_ones() -> None:
    values: RecentValues[int, int] = RecentValues(10)
    for number in range(1_000):
        values.keep(number, number)
        assert len(values) <= 20
    assert [values.get(number) for number in range(990, 1_000)] == list(range(990, 1_000))
    assert values.get(0) is None
