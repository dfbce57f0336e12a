"""A model that proposes candidates of given parents, for a search: what it proposes is plain data that a journal can keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from merrow_optimizer.mutations.base import WorkflowDifference
from merrow_optimizer.mutations.operator_names import ADDITION, CROSSOVER, DELETION, REWIRING, SUBGRAPH, SUBSTITUTION
from merrow_optimizer.suggestions.candidate_answers import Form
from merrow_optimizer.suggestions.ground import Ground
from merrow_optimizer.suggestions.leaks import Leaks
from merrow_optimizer.suggestions.prompt import FailedItem, Round, Try, Wish
from merrow_optimizer.suggestions.session import Models, SuggestionSession
from merrow_optimizer.suggestions.tallies import REPAIRS, CandidateTally
from merrow_runtime.asking.asker import Asker
from merrow_runtime.models.endpoint import Endpoint
from merrow_runtime.options import RunOptions
from merrow_runtime.usage import Usage
from merrow_runtime.workflow import Workflow


@dataclass(frozen=True, slots=True)
class Parent:
    """A workflow that candidates are made of: its number in the search, its text, and its score so far."""

    number: int
    text: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate that passed the gate: its diagram's text, the numbers of its ``parents``, how the model said it, and what the
    judge gave it by criterion (None where it was not judged). ``kind`` is the operator that describes what it changes, by name.
    """

    text: str
    parents: tuple[int, ...]
    title: str
    reason: str
    form: Form
    scores: Mapping[str, float] | None = None
    kind: str = ""

    def to_json(self) -> dict[str, Any]:
        """As a journal keeps it."""
        return {
            "text": self.text,
            "parents": list(self.parents),
            "title": self.title,
            "reason": self.reason,
            "form": self.form,
            "scores": None if self.scores is None else dict(self.scores),
            "kind": self.kind,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Proposal:
        """The inverse of `to_json`."""
        return cls(**{**data, "parents": tuple(data["parents"])})


@dataclass(frozen=True, slots=True)
class Proposals:
    """What one call of `ModelProposer.propose` gave, what it used, and how many candidates of each form were valid when."""

    proposals: tuple[Proposal, ...]
    usage: Usage
    tallies: Mapping[Form, CandidateTally]
    notices: tuple[str, ...] = ()

    def __add__(self, other: Proposals) -> Proposals:
        tallies = {form: tally + other.tallies[form] for form, tally in self.tallies.items()}
        return Proposals(
            self.proposals + other.proposals, self.usage + other.usage, tallies, self.notices + other.notices
        )


class ModelProposer:
    """Proposes candidates by a model. Every candidate is checked; nothing is scored here.

    ``start`` is the workflow that the search begins with: what may not differ from it differs in no candidate. ``leaks`` has the
    items that score candidates. ``asker`` keeps the budget; ``endpoint`` is the one that it asks.
    """

    def __init__(
        self,
        start: Workflow,
        options: RunOptions,
        models: Models,
        asker: Asker,
        *,
        endpoint: Endpoint,
        leaks: Leaks | None = None,
        max_nodes: int | None = None,
        goal: str = "",
        seed: int = 0,
        repairs: int = REPAIRS,
    ) -> None:
        ground = Ground(start, options, max_nodes=max_nodes)
        self._start, self._options, self._max_nodes = start, options, ground.max_nodes
        self._models, self._asker, self._endpoint = models, asker, endpoint
        self._leaks, self._goal, self._seed, self._repairs = leaks or Leaks(), goal, seed, repairs

    async def propose(
        self,
        parents: Sequence[Parent],
        failures: Sequence[FailedItem] = (),
        tries: Sequence[Try] = (),
        n: int = 4,
        taken: Sequence[str] = (),
        round_: Round | None = None,
    ) -> Proposals:
        """Up to ``n`` candidates that change the first parent and may learn from the others, the judge's favourite first. In a
        ``round_`` of a published loop they are made of the first parent alone, or recombine it with the second one.

        ``failures`` are items that the first parent got wrong, of those that score nobody; ``tries`` what was tried from it;
        ``taken`` the keys (`semantic_hash`) of candidates that there are. The same arguments ask the same question, which is
        answered from what is known. Raises `EndpointFailure`, `BudgetFailure`, `StoreFailure`, `AnswerFailure`.
        """
        if not parents:
            raise ValueError("candidates need a parent")
        first, *others = parents
        analysis = Ground(self._start, self._options, max_nodes=self._max_nodes).read(first.text)
        graph = analysis.typed
        if graph is None:
            raise ValueError("a parent is not a workflow")
        own = replace(self._start, text=first.text, analysis=analysis, graph=graph, steps={})
        before = self._asker.used
        rivals = () if round_ is not None else tuple((other.text, other.score) for other in others)
        wish = Wish(n, self._goal, failures=tuple(failures), tries=tuple(tries), others=rivals, round=round_)
        session = SuggestionSession(
            Ground(own, self._options, max_nodes=self._max_nodes),
            wish,
            self._models if round_ is None or n > 1 else replace(self._models, judge=None),
            self._leaks,
            endpoint=self._endpoint,
            seed=self._seed,
            repairs=self._repairs,
        )
        outcome = await session.run(self._asker, taken)
        numbers = tuple(parent.number for parent in parents)
        proposals = tuple(
            Proposal(
                suggestion.text,
                numbers if suggestion.form == "graph" else numbers[:1],
                suggestion.title,
                suggestion.reason,
                suggestion.form,
                None if suggestion.verdict is None else suggestion.verdict.scores,
                kind_of(suggestion.difference, is_recombined=len(numbers) > 1 and suggestion.form == "graph"),
            )
            for suggestion in outcome.suggestions
        )
        return Proposals(proposals, _less(self._asker.used, before), outcome.tallies, tuple(outcome.notices))


def kind_of(difference: WorkflowDifference, *, is_recombined: bool = False) -> str:
    """Which of the six operators describes a change, by name: what it does counts, not what a model calls it."""
    if is_recombined:
        return CROSSOVER
    added, removed, changed = difference.added_nodes, difference.removed_nodes, difference.changed_nodes
    if len(added) + len(removed) == 1 and not changed:
        return ADDITION if added else DELETION
    if added or removed or len(changed) > 1:
        is_swap = len(added) == len(removed) == 1 and not changed
        return SUBSTITUTION if is_swap else SUBGRAPH
    # An operator with other ports has other edges to the same nodes.
    before, after = (
        {(source, target) for source, _, target, _ in edges}
        for edges in (difference.removed_edges, difference.added_edges)
    )
    if before == after:
        return SUBSTITUTION
    return SUBGRAPH if changed else REWIRING


def _less(after: Usage, before: Usage) -> Usage:
    """What was used between two moments."""
    known = after.cost_usd is not None and before.cost_usd is not None
    return Usage(
        after.prompt_tokens - before.prompt_tokens,
        after.completion_tokens - before.completion_tokens,
        after.calls - before.calls,
        (after.cost_usd or 0.0) - (before.cost_usd or 0.0) if known else None,
        after.estimated,
    )
