"""MdEnsemble: the best solution by several votes over shuffled orders, so that no place in the list is an advantage
(choice shuffling; Nori et al. 2023, "Can Generalist Foundation Models Outcompete Special-Purpose Tuning?").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from merrow_runtime.operators.base import Task, Tools
from merrow_runtime.operators.ensembles.ballot import agreement, candidates, chosen, expected, vote
from merrow_runtime.operators.ensembles.concurrently import concurrently
from merrow_runtime.operators.questions import ModelOperator, PlannedQuestion
from merrow_runtime.values import Outputs

VOTES = 5

PROMPT = """\
You are given candidate solutions to one problem. Choose the best one: the result must be right and answer what was \
asked, the reasoning must hold at every step, nothing asked for may be missing. Check each candidate on its own; neither \
its length, its confidence nor its place in the list speaks for it."""


class MdEnsemble(ModelOperator):
    """Five votes; a tie goes to the candidate that came first. Without a question where all solutions are equal."""

    name: ClassVar[str] = "MdEnsemble"
    version: ClassVar[int] = 1
    calls: ClassVar[tuple[int, int]] = (0, VOTES)

    def plan(self, task: Task) -> Sequence[PlannedQuestion]:
        # Whether the real texts will be equal, so that there is nothing to ask, nobody knows yet.
        ballot = expected(task)
        return [vote(task, f"vote {number}", PROMPT, ballot).planned(least=0) for number in range(1, VOTES + 1)]

    async def run(self, task: Task, tools: Tools) -> Outputs:
        ballot = candidates(task)
        if len(ballot) == 1:
            tools.no_call(agreement(ballot, ballot[0]))
            return chosen(task, ballot[0])
        # All orders are drawn before the first question: which vote ends first must not matter.
        orders = [tools.random.sample(range(len(ballot)), len(ballot)) for _ in range(VOTES)]
        places = await concurrently(
            vote(task, f"vote {number}", PROMPT, [ballot[index] for index in order]).ask(tools)
            for number, order in enumerate(orders, 1)
        )
        votes = Counter(order[place] for order, place in zip(orders, places, strict=True))
        return chosen(task, ballot[min(votes, key=lambda index: (-votes[index], index))])
