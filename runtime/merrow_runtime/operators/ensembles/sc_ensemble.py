"""ScEnsemble: the solution that occurs most often (self-consistency; Wang et al. 2022, "Self-Consistency Improves Chain of
Thought Reasoning in Language Models").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from merrow_runtime.operators.base import Task, Tools
from merrow_runtime.operators.ensembles.ballot import BallotCandidate, agreement, candidates, chosen, expected, vote
from merrow_runtime.operators.questions import ModelOperator, PlannedQuestion
from merrow_runtime.values import Outputs

PROMPT = """\
You are given candidate solutions to one problem. Find the result that most of them agree on. Candidates agree when \
their final results mean the same, however they are worded or derived; a candidate marked as given several times counts \
as many. Do not solve the problem yourself and do not prefer a result because you think it right: only count. Of the \
largest group choose the candidate that is written most clearly; between groups of equal size, the one with the \
soundest reasoning."""


class ScEnsemble(ModelOperator):
    """One vote. Without a question where equal solutions are more than half: then nothing can occur more often."""

    name: ClassVar[str] = "ScEnsemble"
    version: ClassVar[int] = 1
    calls: ClassVar[tuple[int, int]] = (0, 1)

    def plan(self, task: Task) -> Sequence[PlannedQuestion]:
        # Whether the real texts will be equal, so that there is nothing to ask, nobody knows yet.
        return (vote(task, "vote", PROMPT, expected(task)).planned(least=0),)

    async def run(self, task: Task, tools: Tools) -> Outputs:
        ballot = candidates(task)
        winner = _majority(ballot)
        if winner is None:
            winner = ballot[await vote(task, "vote", PROMPT, ballot).ask(tools)]
        else:
            tools.no_call(agreement(ballot, winner))
        return chosen(task, winner)


def _majority(ballot: Sequence[BallotCandidate]) -> BallotCandidate | None:
    total = sum(candidate.times for candidate in ballot)
    return next((candidate for candidate in ballot if 2 * candidate.times > total), None)
