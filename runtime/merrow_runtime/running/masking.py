"""Results that are withheld on purpose, to see what a workflow, and who revises it, make of that."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

from merrow_analysis.definitions.types import TypeTable
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.suggest import closest
from merrow_runtime.errors import UsageFailure
from merrow_runtime.options import RunOptions
from merrow_runtime.values import Outputs
from merrow_runtime.visit import Visit, is_called

NOTHING_SAID = "none"
"""What is passed on in place of a result that is masked."""


@dataclass(frozen=True, slots=True)
class Mask:
    """Which results are masked: each with the probability ``rate``, drawn by ``seed`` and the visit, so that a resume draws the
    same. ``only`` are the nodes of the workflow itself that it may meet, by the ids that they began with (empty: all nodes, those
    of called files, too); with ``every`` it also meets what a revision had made again.
    """

    rate: float
    seed: str
    only: frozenset[str] = frozenset()
    every: bool = False

    def meets(self, visit: Visit, name: str) -> bool:
        """Whether the result of a visit is masked; ``name`` is what its node was called first."""
        if visit.redo and not self.every:
            return False
        if self.only and (name not in self.only or is_called(visit.path)):
            return False
        drawn = hashlib.sha256(f"{self.seed} {Visit(name, visit.path, visit.redo)}".encode("utf-8", "surrogatepass"))
        return int.from_bytes(drawn.digest()[:8]) < self.rate * 2.0**64


def mask_of(graph: TypedGraph, options: RunOptions) -> Mask | None:
    """What the options mask; None where they don't. Raises `UsageFailure` where they name a node that can't be masked."""
    if options.mask is None:
        return None
    known = maskable(graph)
    for name in options.mask_only:
        if name in known:
            continue
        if name in graph.by_id:
            raise UsageFailure(f"Node {name} has no output of a kind of Text, so it can't be masked.", node=name)
        near = closest(name, known)
        raise UsageFailure(f"There is no node {name} to mask.{f' Did you mean {near}?' if near else ''}")
    seed = f"{options.seed}/{options.repeat}{f'/{options.mask_key}' if options.mask_key else ''}"
    return Mask(options.mask, seed, frozenset(options.mask_only), options.mask_every)


def maskable(graph: TypedGraph) -> list[str]:
    """The nodes whose results can be masked: those with an operator and an output that is a kind of Text."""
    return [node.id for node in graph.nodes if any(_ports(node, graph.types))]


def mask_notice(mask: Mask) -> str:
    """What is masked, in a sentence for the user."""
    of = f" of {', '.join(sorted(mask.only))}" if mask.only else ""
    again = ", also after it was made again" if mask.every else ""
    return f"Masking: with probability {mask.rate:g} a result{of} is passed on as `{NOTHING_SAID}`{again}."


def masked(outputs: Outputs, node: TypedNode, types: TypeTable) -> Outputs:
    """The outputs of a node as they are passed on where it is masked."""
    hidden = set(_ports(node, types))
    return {port: NOTHING_SAID if port in hidden else value for port, value in outputs.items()}


def _ports(node: TypedNode, types: TypeTable) -> list[str]:
    """The outputs that are texts. A word of an enumeration has to remain one."""
    if node.kind != "operator":
        return []
    return [
        port
        for port, type_ in node.own_outputs.items()
        if type_ is not None and types.fits(type_, "Text") and types.words_of(type_) is None
    ]


def expected_success(rate: float, nodes: int, redone: float = 0) -> float:
    """The probability that none of so many nodes passes on a masked result, where each is made again up to ``redone`` times until
    one is not masked, ``(1 - rate ** (redone + 1)) ** nodes``; 1 where that is without end.
    """
    left = 0.0 if math.isinf(redone) else rate ** (redone + 1)
    return float((1 - left) ** nodes)
