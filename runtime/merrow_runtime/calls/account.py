"""What a run and each of its nodes have used, and who answered them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from merrow_runtime.calls.queueing import Queueing
from merrow_runtime.provenance import Provenance
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.visit import Visit


@dataclass(slots=True, eq=False)
class NodeAccount:
    """The account of one visit of a node. ``used`` has also what the journal knew already; ``why_no_call`` says why the node
    asked nothing, where it did not.
    """

    run: RunAccount
    visit: Visit
    used: Usage = NOTHING
    answered: dict[Provenance, None] = field(default_factory=dict)
    why_no_call: str | None = None
    verdicts: list[Mapping[str, Any]] = field(default_factory=list)
    """What validators said of its results, in the order of that."""
    path: str = ""
    """That of the frame whose Loops its usage counts for: a revision may move what came of it."""

    queueing: Queueing = field(default_factory=Queueing)
    """Of its calls: what is spent on waiting for a place is no part of the time that it took."""

    @property
    def sources(self) -> tuple[Provenance, ...]:
        """Who answered the node."""
        return tuple(self.answered)

    def count(self, usage: Usage) -> None:
        """Count usage for the node and its run."""
        if usage is not NOTHING:
            self.run.spent += usage
            self.count_known(usage)

    def count_known(self, usage: Usage) -> None:
        """Count usage for the node alone: the run has it counted already."""
        self.used = usage if self.used is NOTHING else self.used + usage
        self.run.meter(self.path, usage)


@dataclass(slots=True, eq=False)
class RunAccount:
    """The account of one run. ``spent`` is what it has used, with what it had used before it was resumed; ``before`` who
    answered it until then, as far as this part of it uses their answers. ``meters`` are the Loops with a budget of their own, as
    paths name them, and ``metered`` is what was used in the frames of each, by the path of its turns without their number.
    ``interrupted`` is how many calls were on their way when its process was killed. ``unanswered`` says which
    question an endpoint has not answered at last, the first where there are several.
    """

    spent: Usage = NOTHING
    before: tuple[Provenance, ...] = ()
    nodes: dict[Visit, NodeAccount] = field(default_factory=dict)
    meters: frozenset[str] = frozenset()
    metered: dict[str, Usage] = field(default_factory=dict)
    unanswered: str | None = None
    interrupted: int = 0
    queueing: Queueing = field(default_factory=Queueing)
    """Of all calls of the run."""
    _moved: dict[Visit, list[NodeAccount]] = field(default_factory=dict)
    _is_stale: bool = False

    def of(self, visit: Visit) -> NodeAccount:
        """The account of a visit, opened where there is none."""
        account = self.nodes.get(visit)
        if account is None:
            account = self.nodes[visit] = NodeAccount(self, visit, path=visit.path)
        return account

    def move(self, source: Visit, visit: Visit, *, is_call: bool) -> None:
        """What came of a visit is another one's now: what it used counts for the Loops around that; with ``is_call`` what was
        used in the file that it called, too.
        """
        moved = self._moved.pop(source, None)
        if moved is None:
            moved = [self.nodes[source]] if source in self.nodes else []
            place = str(source.lasting)
            moved += [node for node in self.nodes.values() if is_call and f"{node.path}/".startswith(f"{place}/")]
        self._moved[visit] = moved
        before, now = str(source.lasting), str(visit.lasting)
        for moved_node in moved:
            inside = f"{moved_node.path}/".startswith(f"{before}/")
            moved_node.path = now + moved_node.path[len(before) :] if inside else visit.path
        self._is_stale = True

    def use_meters(self, meters: frozenset[str]) -> None:
        """Count for other Loops from now on, with all that was used so far."""
        self.meters, self._is_stale = meters, True

    def used_in(self, place: str) -> Usage:
        """What was used in the turns of a Loop; ``place`` is their path without the number."""
        if self._is_stale:
            self.metered, self._is_stale = {}, False
            for node in self.nodes.values():
                self.meter(node.path, node.used)
        return self.metered.get(place, NOTHING)

    def used_by(self, node: str) -> Usage:
        """What all visits of a node have used."""
        return sum((account.used for visit, account in self.nodes.items() if visit.node == node), NOTHING)

    def gather(self, call: Visit) -> None:
        """Note at a node that called a file who answered the nodes in there."""
        account, path = self.of(call), str(call)
        for visit, inner in list(self.nodes.items()):
            if visit.path == path or visit.path.startswith(f"{path}/"):
                account.answered.update(inner.answered)

    def meter(self, path: str, usage: Usage) -> None:
        """Count what a visit in the frame with this path used, for the Loops around it."""
        end = 0
        for part in path.split("/"):
            own = part.partition("[")[0]
            if own.partition("!")[0] in self.meters:
                place = path[: end + len(own)]
                self.metered[place] = self.metered.get(place, NOTHING) + usage
            end += len(part) + 1

    @property
    def all_sources(self) -> tuple[Provenance, ...]:
        """Who answered the run, with those who did before it was resumed."""
        return tuple(
            dict.fromkeys([*self.before, *(source for node in self.nodes.values() for source in node.answered)])
        )
