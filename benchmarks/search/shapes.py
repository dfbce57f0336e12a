"""A workflow as the simulated worlds look at it: its nodes in order, with who reads whom. Each text is read once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from merrow_analysis.check import analyse
from merrow_analysis.graph.remembering import remembered
from merrow_runtime import RunOptions
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.workflow import check_workflow

OPTIONS = RunOptions(default_model="m")


@dataclass(frozen=True, slots=True)
class Step:
    """A node that answers. ``reads`` are the handles of the nodes that it reads, by an edge or because it remembers them;
    ``prompt`` is None for one that asks nobody.
    """

    handle: int
    operator: str
    is_ensemble: bool
    samples: int
    prompt: str | None
    reads: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """The steps of a workflow, each after those that it reads, and what each of its outputs reads."""

    steps: tuple[Step, ...]
    ends: tuple[tuple[int, ...], ...]


@cache
def shape_of(text: str) -> Shape:
    """The shape of a valid workflow."""
    workflow = check_workflow(text, analysis=analyse(text))
    graph = workflow.graph
    definitions = make_steps(workflow, OPTIONS)
    steps = []
    for handle in graph.order:
        node = graph.node(handle)
        if node.kind == "input":
            continue
        step = definitions.get(node.index)
        _, givers = remembered(graph, node, workflow.analysis.settings)
        reads = {edge.source.index for edge in node.incoming} | {giver.index for giver in givers}
        steps.append(
            Step(
                handle,
                node.operator or "",
                node.spec is not None and node.spec.is_ensemble,
                1 if step is None else step.samples or 1,
                None if step is None else step.definition.prompt or "",
                tuple(sorted(reads)),
            )
        )
    ends = tuple(tuple(sorted({edge.source.index for edge in node.incoming})) for node in graph.outputs)
    return Shape(tuple(steps), ends)
