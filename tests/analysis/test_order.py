"""The order of nodes: sources first, ties by first mention, nodes that wait for each other together; also after edits."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from merrow_analysis.check import Analyser, analyse
from merrow_analysis.graph.bare.shape import GraphShape
from merrow_analysis.text import Position, Range, TextEdit

NODES = 24
HEAD = [
    "flowchart TD\n",
    *(f'    N{n}["Custom<br/>(role: r)"]:::CustomOp\n' for n in range(NODES)),
    "    N0 --> RETURN([x]):::Interface\n",
    "    PROBLEM([x]):::Interface --> N0\n",
    "    classDef Interface fill:#fff\n    classDef CustomOp fill:#fff\n",
]
edges = st.tuples(st.integers(0, NODES + 2), st.integers(-3, 8)).map(
    lambda pair: f"    N{pair[0]} --> N{max(pair[0] + pair[1], 0)}\n"
)


def check_order(shape: GraphShape) -> None:
    """Assert that the order is the one that its definition says, slowly."""
    left = sorted(shape.order, key=shape.ranks.__getitem__)
    inputs, outputs = shape.inputs, shape.outputs
    sources = {
        node: set() if node in inputs else {one for one in shape.before[node] if one != node and one not in outputs}
        for node in left
    }

    def behind(node: int) -> set[int]:
        """What is left of what a node waits for, itself included."""
        found, stack = {node}, [node]
        while stack:
            new = sources[stack.pop()].intersection(left) - found
            found |= new
            stack += new
        return found

    order: list[int] = []
    knots = iter(shape.cycles)
    while left:
        ready = [node for node in left if sources[node].isdisjoint(left)][:1]
        if not ready:
            ready = next(knots)
            assert ready == sorted(ready, key=shape.ranks.__getitem__)
            assert all(behind(node) == set(ready) for node in ready)
            assert ready[0] in behind(left[0])
        order += ready
        left = [node for node in left if node not in ready]
    assert shape.order == order
    assert next(knots, None) is None


@settings(max_examples=15, deadline=None)
@given(st.lists(edges, max_size=40), st.lists(st.tuples(st.integers(0, 60), st.none() | edges), min_size=1, max_size=8))
def test_the_order_is_a_function_of_the_graph_and_not_of_its_history(
    drawn: list[str], changes: list[tuple[int, str | None]]
) -> None:
    lines = [*HEAD, *drawn]
    analyser = Analyser("".join(lines))
    analyser.analysis()
    head = "".join(HEAD).count("\n")
    for place, new in changes:
        at = place % (len(drawn) + 1)
        end = min(at + 1, len(drawn)) if new is None or place % 2 else at
        drawn[at:end] = [] if new is None else [new]
        analyser.edit(TextEdit(Range(Position(head + at, 0), Position(head + end, 0)), new or ""))
        warm, cold = analyser.analysis().typed, analyse("".join([*HEAD, *drawn])).typed
        assert warm is not None
        assert cold is not None
        ids = [warm.node(node).id for node in warm.order], [[warm.node(n).id for n in knot] for knot in warm.cycles]
        assert ids == (
            [cold.node(node).id for node in cold.order],
            [[cold.node(node).id for node in knot] for knot in cold.cycles],
        )
        check_order(warm.shape)


@settings(max_examples=5, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.none() | edges), min_size=1, max_size=8))
def test_the_order_is_that_of_the_graph_while_many_cycles_stay(changes: list[tuple[int, str | None]]) -> None:
    # Each of these nodes and the next one wait for each other.
    cycles = [f"    N{n} --> N{n + 1}\n    N{n + 1} --> N{n}\n" for n in range(0, NODES, 3)]
    drawn = [f"    N{n} --> N{n + 2}\n" for n in range(0, NODES - 2, 2)]
    head = [*HEAD, *cycles]
    analyser = Analyser("".join([*head, *drawn]))
    analyser.analysis()
    line = "".join(head).count("\n")
    for place, new in changes:
        at = place % (len(drawn) + 1)
        end = min(at + 1, len(drawn)) if new is None or place % 2 else at
        drawn[at:end] = [] if new is None else [new]
        analyser.edit(TextEdit(Range(Position(line + at, 0), Position(line + end, 0)), new or ""))
        warm, cold = analyser.analysis().typed, analyse("".join([*head, *drawn])).typed
        assert warm is not None
        assert cold is not None
        check_order(warm.shape)
        assert [warm.node(node).id for node in warm.order] == [cold.node(node).id for node in cold.order]


def test_an_arrow_back_that_is_typed_and_taken_away_leaves_the_order_as_it_was() -> None:
    drawn = [f"    N{n} --> N{n + 1}\n" for n in range(NODES - 1)]
    analyser = Analyser("".join([*HEAD, *drawn]))
    before = analyser.analysis().typed
    line = "".join(HEAD).count("\n") + NODES - 3
    assert before is not None
    orders = []
    for target in ("N2", "N1", "", "N1", "N12", f"N{NODES - 2}"):
        analyser.edit(TextEdit(Range(Position(line, 0), Position(line + 1, 0)), f"    N{NODES - 3} --> {target}\n"))
        now = analyser.analysis().typed
        assert now is not None
        check_order(now.shape)
        orders.append(([now.node(node).id for node in now.order], [len(knot) for knot in now.cycles]))
    assert [knots for _, knots in orders] == [[NODES - 4], [NODES - 3], [], [NODES - 3], [NODES - 14], []]
    assert orders[-1][0] == [before.node(node).id for node in before.order]
