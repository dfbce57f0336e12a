"""What must stay of nodes that do more than ask a model, found without `kept_effects`: guards by going through what every
Decision can choose.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from random import Random
from typing import Any

from tests.analysis.rule_page import GivenFiles
from tests.tools.pinned import PINS

from merrow_analysis.check import analyse
from merrow_analysis.graph.bare.reach import reach
from merrow_analysis.graph.liveness.live_nodes import RunTruth, spread
from merrow_analysis.graph.measures.call_bounds import most_calls
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.tools.pins import PINS_FILE

FILES = GivenFiles({PINS_FILE: PINS.text()})
"""The files beside each workflow."""
_MOST_CHOICES = 400


def graph_of(text: str) -> TypedGraph:
    analysis = analyse(text, provider=FILES)
    assert analysis.typed is not None
    assert not analysis.errors, [one.message for one in analysis.errors]
    return analysis.typed


def acting_nodes(graph: TypedGraph) -> list[TypedNode]:
    """The nodes that ask people, use tools, act in environments or keep something in stores."""
    return [node for node in graph.nodes if node.operator in ("Human", "Tool", "ToolAgent", "Remember", "Environment")]


def choices(graph: TypedGraph) -> Iterator[dict[int, int]]:
    """What the Decisions may choose, all combinations or some hundred of them, the same ones each time."""
    sizes = {node.index: len(node.cases.labels) for node in graph.decisions if node.cases is not None}
    every = product(*(range(size) for size in sizes.values()))
    known = list(islice(every, 4 * _MOST_CHOICES))
    if len(known) > _MOST_CHOICES:
        known = Random(1).sample(known, _MOST_CHOICES)
    for chosen in known:
        yield dict(zip(sizes, chosen, strict=True))


def guards(graph: TypedGraph) -> dict[str, dict[str, set[str]]]:
    """For each Human and Tool the Humans and Decisions before it that ran in every run in which it did, with what these chose."""
    found: dict[str, dict[str, set[str]]] = {}
    candidates = [node for node in graph.nodes if node.operator in ("Human", "Decision")]
    for acting in acting_nodes(graph):
        behind = reach(graph.shape.before, [acting.index])
        mine = {node.id: set[str]() for node in candidates if behind[node.index] and node is not acting}
        for chosen in choices(graph):
            truth = RunTruth(chosen)
            truth.untils = dict.fromkeys(graph.composites.boxes, False)
            runs = spread(graph.combinations.plan, truth, graph.combinations.loops).runs
            if runs.get(acting.index, True) is not True:
                continue
            for name in list(mine):
                guard = graph.by_id[name]
                if runs.get(guard.index, True) is not True:
                    del mine[name]
                elif guard.cases is not None:
                    mine[name].add(guard.cases.labels[chosen[guard.index]])
        found[acting.id] = mine
    return found


def facts(graph: TypedGraph) -> dict[str, Any]:
    """What must stay of each Human and Tool: what it is, where, and what it is given."""
    return {
        node.id: (
            node.operator,
            graph.composites.around(node.id),
            sorted((key, repr(one.value)) for key, one in node.resolution.parameters.items()),
            sorted((edge.source.id, edge.arrow.label.text if edge.arrow.label else "") for edge in node.flow.incoming),
        )
        for node in acting_nodes(graph)
    }


def assert_kept(before: TypedGraph, after: TypedGraph, what: str) -> None:
    assert facts(after) == facts(before), what
    for node in acting_nodes(before):
        most, now = most_calls(before, node), most_calls(after, after.by_id[node.id])
        assert most is not None
        assert now is not None
        assert now <= most, what
    now_by_id = guards(after)
    for name, wanted in guards(before).items():
        for guard, cases in wanted.items():
            assert guard in now_by_id[name], f"{what}: {name} without {guard}"
            assert now_by_id[name][guard] <= cases, f"{what}: {name} in {now_by_id[name][guard]} of {guard}"
