"""A visit of a node that is about to be carried out, and what there may be of it already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from merrow_analysis.graph.boxes.composites import Composites
from merrow_runtime.calls.account import NodeAccount
from merrow_runtime.frontier import Start
from merrow_runtime.operators.base import Remembered
from merrow_runtime.program.definitions import Step
from merrow_runtime.running.attempts import Standard
from merrow_runtime.running.nodes_at_work import seed_of
from merrow_runtime.running.planned_calls import Pool
from merrow_runtime.store.contract import NodeRecord
from merrow_runtime.visit import read_segment


class Earlier(NamedTuple):
    """An earlier result for a visit. ``is_own`` says that the run itself made it with this visit, before it was resumed."""

    record: NodeRecord
    is_own: bool


@dataclass(frozen=True, slots=True)
class NodeVisit:
    """A visit of a node. ``key`` stands for what its result depends on, ``judged`` for what its result is judged by.

    ``pool`` has what the turns of a planned Call may reuse. ``is_rerun`` says that the user wants it anew; what it asked
    before ``given_away`` belongs to another visit by now.
    """

    start: Start
    step: Step
    account: NodeAccount
    memory: list[Remembered]
    key: str
    judged: Standard | None
    pool: Pool | None
    is_rerun: bool
    given_away: float

    @property
    def seed(self) -> str:
        """What its shuffles are seeded with."""
        return seed_of(self.start.visit, self.key, self.start.ordinal)

    @property
    def past_cache(self) -> bool:
        """Whether its calls bypass the cache."""
        return self.is_rerun or self.start.visit.redo > 0 or self.given_away > 0


def turn_of_question(start: Start, composites: Composites) -> str:
    """The later turns of Loops that arrows make in which a question is asked, as parts of its path: it is another question in
    each, also where nothing new is known. Empty for anything else.
    """
    if not start.node.asks or not composites:
        return ""
    turns: list[str] = []
    for part in start.visit.path.split("/") if start.visit.path else ():
        name, _, _, index = read_segment(part)
        box = composites.boxes.get(name)
        if box is not None and box.implied and index is not None and index > 1:
            turns.append(part)
    return "/".join(turns)
