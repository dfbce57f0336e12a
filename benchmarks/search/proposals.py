"""Where candidates of the simulated searches come from: real safe moves, and what is laid on top of them.

Reading a child is most of the work of a search, and the same child comes up in many searches. So the children of a workflow are
drawn once for all searches of a process, up to `_SLOTS` of a kind.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from random import Random

from benchmarks.search.shapes import OPTIONS, shape_of
from benchmarks.search.world import INVALID, START, WORDED, World
from merrow_optimizer.search.candidates import CandidateDraft
from merrow_optimizer.search.children import Moves
from merrow_optimizer.search.features import PromptUse
from merrow_runtime.workflow import check_workflow

_SLOTS = 256


class Woods:
    """All workflows that any search has come across, by key, with their children."""

    def __init__(self, max_nodes: int | None) -> None:
        self.moves = Moves(check_workflow(START), OPTIONS, max_nodes=max_nodes)
        self.start = self.moves.start()
        self._drafts = {self.start.key: self.start}
        self._children: dict[tuple[str, ...], CandidateDraft | None] = {}

    def child(self, parent: CandidateDraft, slot: int, operator: str | None) -> CandidateDraft | None:
        """The child with this number; its parents and title are those of the move that led to it."""
        which = (parent.key, operator or "", str(slot))
        if which not in self._children:
            self._children[which] = self._known(self.moves.child(0, parent, _luck(which), operator))
        return self._children[which]

    def crossed(self, parent: CandidateDraft, other: CandidateDraft, slot: int) -> CandidateDraft | None:
        """The child of two workflows with this number."""
        which = (parent.key, other.key, "x", str(slot))
        if which not in self._children:
            self._children[which] = self._known(self.moves.crossed(0, parent, 1, other, _luck(which)))
        return self._children[which]

    def _known(self, draft: CandidateDraft | None) -> CandidateDraft | None:
        if draft is None:
            return None
        first = self._drafts.setdefault(draft.key, draft)
        return replace(first, operator=draft.operator, title=draft.title)


def _luck(which: tuple[str, ...]) -> Random:
    return Random(" ".join(which))  # noqa: S311 (no secret)


@cache
def _woods(max_nodes: int | None) -> Woods:
    return Woods(max_nodes)


class Proposals:
    """Safe moves in a world; where its rules say so, sometimes the better one of two children, or another wording of a prompt."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._woods = _woods(world.rules.max_nodes)
        self.operators = self._woods.moves.operators

    def start(self) -> CandidateDraft:
        """The workflow that each search begins with."""
        return self._woods.start

    def child(
        self, number: int, parent: CandidateDraft, chance: Random, operator: str | None = None
    ) -> CandidateDraft | None:
        """A child by one change."""
        rules = self.world.rules
        first = self._one(parent, chance, operator)
        if first is not None and rules.proposer and chance.random() < rules.proposer:
            first = max(first, self._one(parent, chance, operator) or first, key=self.world.truth)
        return first and replace(first, parents=(number,))

    def further(self, draft: CandidateDraft, chance: Random) -> CandidateDraft | None:
        """A draft with one more change."""
        more = self._one(draft, chance, None)
        return more and replace(more, parents=draft.parents, operator=draft.operator)

    def crossed(
        self, number: int, parent: CandidateDraft, other_number: int, other: CandidateDraft, chance: Random
    ) -> CandidateDraft | None:
        """A child of two workflows, with the wordings of both."""
        (first, wordings), (second, others) = _bare(parent), _bare(other)
        child = self._woods.crossed(first, second, chance.randrange(_SLOTS // 4))
        return child and replace(_worded(child, others | wordings), parents=(number, other_number))

    def _one(self, parent: CandidateDraft, chance: Random, operator: str | None) -> CandidateDraft | None:
        rules = self.world.rules
        bare, wordings = _bare(parent)
        if rules.wordings and chance.random() < 0.5:
            prompts = sorted({step.prompt for step in shape_of(bare.text).steps if step.prompt})
            if not prompts:
                return None
            changed = wordings | {chance.choice(prompts): chance.randrange(rules.wordings)}
            return replace(_worded(bare, changed), operator="prompt", title="Reword a prompt")
        child = self._woods.child(bare, chance.randrange(_SLOTS), operator)
        return child and _worded(child, wordings)


def _bare(draft: CandidateDraft) -> tuple[CandidateDraft, dict[str, int]]:
    """A workflow without other wordings, and these: the number of its wording for each prompt."""
    text, mark, wordings = draft.text.partition(WORDED)
    if not mark:
        return draft, {}
    return replace(draft, text=text, key=draft.key.partition(" ")[0]), json.loads(wordings)


def _worded(draft: CandidateDraft, wordings: dict[str, int]) -> CandidateDraft:
    prompts = [step.prompt for step in shape_of(draft.text).steps if step.prompt is not None] if wordings else []
    used = {prompt: wordings[prompt] for prompt in sorted(set(prompts)) if prompt in wordings}
    if not used:
        return draft
    said = json.dumps(used)
    worded = {
        PromptUse(f"{use.text} {used[use.text]}", use.is_first) if use.text in used else use: share
        for use, share in draft.prompts.items()
    }
    return replace(draft, text=draft.text + WORDED + said, key=f"{draft.key} {said}", prompts=worded)


class Limited(Proposals):
    """Only some of the operators, each as likely as the others."""

    def __init__(self, world: World, operators: tuple[str, ...]) -> None:
        super().__init__(world)
        self.operators = operators

    def child(
        self, number: int, parent: CandidateDraft, chance: Random, operator: str | None = None
    ) -> CandidateDraft | None:
        """A child by one of them; None where there is none, as where there are no operators."""
        if operator is None and self.operators:
            operator = chance.choice(self.operators)
        return super().child(number, parent, chance, operator) if operator else None


class JudgedProposals(Proposals):
    """The published proposer: of four children the one that a judge likes best, who has not run them."""

    def child(
        self, number: int, parent: CandidateDraft, chance: Random, operator: str | None = None
    ) -> CandidateDraft | None:
        drafts = [super(JudgedProposals, self).child(number, parent, chance, operator) for _ in range(4)]
        return max((draft for draft in drafts if draft is not None), key=self.world.judged, default=None)


class Changed(Proposals):
    """Proposals that are changed before a search sees them."""

    def child(
        self, number: int, parent: CandidateDraft, chance: Random, operator: str | None = None
    ) -> CandidateDraft | None:
        return self.changed(super().child(number, parent, chance, operator), chance.random())

    def further(self, draft: CandidateDraft, chance: Random) -> CandidateDraft | None:
        return self.changed(super().further(draft, chance), chance.random())

    def crossed(
        self, number: int, parent: CandidateDraft, other_number: int, other: CandidateDraft, chance: Random
    ) -> CandidateDraft | None:
        return self.changed(super().crossed(number, parent, other_number, other, chance), chance.random())

    def changed(self, draft: CandidateDraft | None, luck: float) -> CandidateDraft | None:
        """What the search sees; ``luck`` is between 0 and 1."""
        raise NotImplementedError


class Blind(Changed):
    """Candidates without features of their prompts, and without those of their structure unless ``sees_structure``."""

    def __init__(self, world: World, *, sees_structure: bool) -> None:
        super().__init__(world)
        self._sees_structure = sees_structure

    def changed(self, draft: CandidateDraft | None, luck: float) -> CandidateDraft | None:  # noqa: ARG002 (it is the same each time)
        """A draft without these features."""
        if draft is None or self._sees_structure:
            return draft and replace(draft, prompts={})
        return replace(draft, features=draft.features[:1] + (0.0,) * (len(draft.features) - 1), prompts={})


class Unchecked(Changed):
    """As if nothing checked a candidate before it is scored: half of the children can't run, and look like the others."""

    def changed(self, draft: CandidateDraft | None, luck: float) -> CandidateDraft | None:
        """The draft, or one like it that can't run."""
        if draft is None or luck < 0.5:
            return draft
        return replace(draft, operator=INVALID, key=f"{INVALID} {draft.key}")
