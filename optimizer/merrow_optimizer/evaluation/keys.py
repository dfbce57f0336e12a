"""What decides an answer and its score, as keys: whatever has the same key is neither asked nor scored again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from merrow_analysis.definitions.validator_schema import VALIDATION_KEYS
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_optimizer.evaluation.items import Item, hash_of
from merrow_optimizer.evaluation.scores import Metric
from merrow_runtime.program.definitions import Steps
from merrow_runtime.values import canonical
from merrow_runtime.workflow import Workflow

_FORMAT = 1
_KEY_BYTES = 16


def semantic_hash(workflow: Workflow, steps: Steps) -> str:
    """What a workflow does as a hash: of its nodes as they run (prompts, models and parameters included) and what flows where.

    Ids, labels that say nothing, layout, style and comments don't count; the order of the inputs of an ensemble doesn't either.
    The ids of inputs do, in any case of letters, since they say what is fed to them.
    """
    graph, settings = workflow.graph, workflow.analysis.settings
    keys: dict[int, str] = {}
    boxes: dict[str, int] = {}
    agents: dict[str, int] = {}
    by_agent = any(step.memory.kind == "agent" for step in steps.values())
    for handle in graph.order:
        node = graph.node(handle)
        own = [*_own(workflow, node, steps), *_around(workflow, node, boxes)]
        step = steps.get(handle)
        if by_agent and step is not None and step.agent is not None:
            # Who sees whose results: agents by the order in which they are met.
            own.append(f"agent {agents.setdefault(step.agent.name.casefold(), len(agents))}")
        lines = [_line(edge, keys) for edge in node.incoming]
        if node.spec is not None and node.spec.is_ensemble:
            lines.sort()
        keys[handle] = _hash(*own, *lines)
    again = [_hash(keys[handle], _line(edge, keys)) for handle in graph.order for edge in graph.node(handle).again_in]
    refined = [] if settings.refine is None else [repr(settings.refine)]
    ends = [repr(settings.budget), settings.on_error or ""]
    return _hash(*ends, *sorted(keys.values()), "again", *sorted(again), *refined)


def _own(workflow: Workflow, node: TypedNode, steps: Steps) -> list[str]:
    """What a node does, without what it is called."""
    step = steps.get(node.index)
    # What a validator refuses is asked for again, so that it decides the answer, too.
    validated = [] if step is None or step.validation is None else [step.validation.digest]
    if step is not None and node.kind != "output":
        parts = [step.timeout, step.retries, step.on_error, step.fallback, step.memory]
        return [step.digest.hex(), "" if node.spec is None else step.definition.title, *map(repr, parts), *validated]
    own = ((key, parameter) for key, parameter in node.resolution.parameters.items() if key not in VALIDATION_KEYS)
    parameters = sorted((key, repr(parameter.value)) for key, parameter in own)
    described = [node.kind, node.operator or "", repr(parameters), str(node.resolution.declared), *validated]
    if node.kind == "input" or (node.kind == "output" and len(workflow.graph.outputs) > 1):
        described.append(node.id.casefold())
    elif node.kind == "decision":
        label = node.flow.label
        described.append("" if label is None else label.text)
    return described


def _around(workflow: Workflow, node: TypedNode, boxes: dict[str, int]) -> list[str]:
    """The Loops and Maps around a node, by the order in which they are met."""
    composites = workflow.graph.composites
    return [
        f"{boxes.setdefault(name, len(boxes))} {composites.boxes[name].kind} "
        + repr(sorted((key, repr(parameter.value)) for key, parameter in composites.boxes[name].parameters.items()))
        for name in composites.around(node.id)
    ]


def _line(edge: TypedEdge, keys: Mapping[int, str]) -> str:
    """What an edge brings to its target."""
    feeds = [(feed.output, feed.port) for feed in edge.feeds]
    return f"{keys.get(edge.source.index, '')} {edge.case_label} {edge.word} {feeds!r}"


def work_key(
    semantic: str, origin: str, seed: int, repeat: int, inputs: Mapping[str, Any], how: Sequence[Any] = ()
) -> bytes:
    """The key of an answer: the workflow with its models, who answers, the item's inputs, which repeat it is, and ``how`` its
    run differs from a plain one.
    """
    named = {name.casefold(): value for name, value in inputs.items()}
    return _digest([_FORMAT, semantic, origin, seed, repeat, named, *how])


def score_key(work: bytes, item: Item, metric: Metric) -> bytes:
    """The key of a score: the answer, what the metric compares it with, and the metric."""
    return _digest([_FORMAT, work.hex(), hash_of(item), metric.identity])


def _digest(parts: list[Any]) -> bytes:
    return hashlib.sha256(canonical(parts).encode("utf-8", "surrogatepass")).digest()[:_KEY_BYTES]


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
