"""A model that changes the graph of a run: what it is asked, and its answers checked before anybody uses them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from merrow_analysis.definitions.settings import Refine
from merrow_optimizer.revising.choosing import chosen, difference_of
from merrow_optimizer.revising.making import GraphChanges
from merrow_optimizer.revising.revision_answers import FIELDS, REVISION, read_answer
from merrow_runtime.errors import AnswerFailure, UsageFailure
from merrow_runtime.operators.prompts.asking_again import QuestionTurn, until_read
from merrow_runtime.quoting import RULE, quoted
from merrow_runtime.requests import Message, ModelReply
from merrow_runtime.revising.reviser import CannotReviseError, ProposedChanges, RevisionAsker
from merrow_runtime.workflow import Workflow

REPAIRS = 3
"""How often an answer that can't be used is sent back."""

_MOST_TOLD = 1_500

_FORMS = "\n".join(
    f"- {do}: {', '.join(needed)}" + (f"; if wanted {', '.join(allowed)}" if allowed else "")
    for do, (needed, allowed) in FIELDS.items()
)

_SYSTEM = f"""\
You look after a workflow while it runs. Each node is one call of a model: it is given the task, its own objective and the
results of the nodes that it comes after, nothing else. Say what to change so that the rest of the run does the task
better: above all where a node failed, where a result is missing, wrong or `none`, or where results show that the plan
does not fit. Change as little as you can, and nothing where all goes well: what you change is made again, with all that
follows from it; all else is kept.

Answer with JSON: {{"reason": "...", "changes": [...]}}, or {{}} where nothing is to be changed. Each change has `do`:
{_FORMS}
`after` are the ids of nodes whose results it needs, `before` of those that need its result; `into` has the parts of a node
that is split, each as in add. A removed node's results are no longer there: those that needed them get what it needed.
`bypass` takes out a node that can't be done, such as one that failed and that no other objective would help: those that
needed its result continue with what there is, and the run says that it was bypassed.
`redo` has a node made again as it is. Inputs and outputs of the workflow can't be changed, nor nodes that are locked,
nor Decisions.

{RULE}"""


@dataclass(frozen=True, slots=True)
class ModelReviser:
    """`merrow_runtime.revising.reviser.Reviser` by a model."""

    async def revise(
        self, view: Mapping[str, Any], workflow: Workflow, refine: Refine, asker: RevisionAsker
    ) -> ProposedChanges:
        """See `merrow_runtime.revising.reviser.Reviser.revise`. Of several answers that can be used, `refine.rank` chooses."""
        if refine.answers == 1:
            return await self._candidate(0, view, workflow, refine, asker)
        asked = (self._candidate(number, view, workflow, refine, asker) for number in range(refine.answers))
        results = await asyncio.gather(*asked, return_exceptions=True)
        usable = [result for result in results if not isinstance(result, BaseException)]
        for problem in results:
            if isinstance(problem, BaseException) and not isinstance(problem, (CannotReviseError, AnswerFailure)):
                raise problem
        if not usable:
            raise CannotReviseError(str(results[0]))
        return chosen(results, workflow, refine)

    async def _candidate(
        self, number: int, view: Mapping[str, Any], workflow: Workflow, refine: Refine, asker: RevisionAsker
    ) -> GraphChanges:
        suffix = f" {number + 1}" if number else ""
        temperature = 1.0 if refine.answers > 1 else None

        async def put(turn: QuestionTurn) -> tuple[ModelReply, tuple[GraphChanges, ...], AnswerFailure | None]:
            step = f"repair {turn.attempt}{suffix}" if turn.attempt else f"revise{suffix}"
            text = await asker.ask(step, turn.messages, str, schema=REVISION, temperature=temperature)
            try:
                changes = GraphChanges(read_answer(text, refine.max_nodes))
                _check(changes, workflow, refine)
            except (AnswerFailure, CannotReviseError, UsageFailure) as cannot:
                problem = str(cannot)[:_MOST_TOLD]
                told = f"That can't be used: {problem} Answer again with all changes, or with {{}}."
                return ModelReply(text), (), AnswerFailure(problem, advice=told)
            return ModelReply(text), (changes,), None

        answer = await until_read(question(view), 1 + REPAIRS, put)
        if answer.failure is None:
            return answer.value[0]
        raise CannotReviseError(
            f"The model gave no change that can be used in {answer.attempts} attempts. {answer.failure}"
        )


def question(view: Mapping[str, Any]) -> tuple[Message, ...]:
    """What a reviser is asked: all of the run is data between marks."""
    shown = quoted({"task": view["task"], "agents": view["agents"], "nodes": view["nodes"]})
    why = {
        "every": "Some nodes have finished.",
        "failure": "A node has failed.",
        "invalid": "No attempt of a node was valid.",
    }.get(str(view["trigger"]), "The run is to be looked at.")
    return Message("system", _SYSTEM), Message("user", f"{why}\n\n{shown}\n\nWhat is to be changed?")


def _check(changes: GraphChanges, workflow: Workflow, refine: Refine) -> None:
    """Raise where changes can't be made, or make no workflow that could take the place of this one."""
    if not changes.is_empty:
        difference = difference_of(changes.on(workflow, refine.max_nodes), workflow)
        if difference.refused:
            raise CannotReviseError(" ".join(difference.refused))
