"""What a model is asked for candidates, and told about one that was refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from merrow_optimizer.mutations.operator_names import ADDITION, CROSSOVER, DELETION, REWIRING, SUBGRAPH, SUBSTITUTION
from merrow_optimizer.suggestions.candidate_answers import FORM, CandidateAnswer
from merrow_optimizer.suggestions.describing import graph_data, operators_data
from merrow_optimizer.suggestions.ground import Ground
from merrow_optimizer.suggestions.guide import LANGUAGE, examples
from merrow_optimizer.suggestions.menu import MenuEntry
from merrow_optimizer.suggestions.refusals import Unusable
from merrow_runtime.quoting import RULE, quoted
from merrow_runtime.requests import Message

_TASK = (
    "You improve workflows of language models: what they answer should be right more often, at a cost that is worth it."
    " You may change nodes, edges, prompts, `samples`, `temperature` and `memory`, and nothing else. Every candidate is checked"
    " before anybody sees it."
)
_SHOWN, _LONGEST = 5, 1_500
"""Failures that are shown, and the characters of each text in them."""


@dataclass(frozen=True, slots=True)
class FailedItem:
    """An item that a workflow got wrong: what was given, what is right, what it answered and what was read from that."""

    inputs: str
    gold: str
    output: str
    read: str = ""


@dataclass(frozen=True, slots=True)
class Try:
    """What was tried before and what became of it: the change in words, and the score before and after it."""

    title: str
    before: float | None
    after: float


@dataclass(frozen=True, slots=True)
class Round:
    """A round of a published loop: the ``score`` of the workflow, and what was tried from it and became better (``success``) or
    did not (``failure``). With two parents also the text and the score of the ``other`` one, and of ``former`` workflows, the
    best first, which only a judge is shown.
    """

    score: float | None
    success: tuple[Try, ...] = ()
    failure: tuple[Try, ...] = ()
    other: tuple[str, float | None] | None = None
    former: tuple[tuple[str, float | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for: ``n`` candidates, for a ``goal`` in words. With ``node`` only its prompt may change; ``about`` are nodes
    that are meant above all. ``others`` are further workflows to learn from, each with its score. With ``round`` the candidates
    are those of a published loop, with its operators and its judge's criteria.
    """

    n: int = 4
    goal: str = ""
    node: str | None = None
    about: tuple[str, ...] = ()
    failures: tuple[FailedItem, ...] = ()
    tries: tuple[Try, ...] = ()
    others: tuple[tuple[str, float | None], ...] = field(default=())
    round: Round | None = None


_ONE_PARENT: Mapping[str, str] = {
    SUBSTITUTION: "another operator, prompt or parameter for a node with the same inputs and outputs",
    ADDITION: "a new node on an edge, whose types fit on both sides",
    REWIRING: "an edge to another node, where the types fit and every node stays connected",
    DELETION: "a node less, with its sources joined to what it fed; a vote keeps two",
    SUBGRAPH: "a connected part replaced by another one with the same values in and out",
}
_TWO_PARENTS = "parts of both workflows in one, cut at inputs, outputs or votes, with the prompts of both"


def first_messages(ground: Ground, wish: Wish, menu: Sequence[MenuEntry]) -> tuple[Message, ...]:
    """The question for candidates."""
    parts: dict[str, Any] = {
        "The workflow": ground.text,
        "Its typed graph": graph_data(ground.analysis, ground.graph),
    }
    if wish.failures:
        parts["Items that it got wrong"] = [
            {
                "given": failure.inputs[:_LONGEST],
                "right answer": failure.gold[:_LONGEST],
                "its answer": failure.output[-_LONGEST:],
                **({"read from that": failure.read[:_LONGEST]} if failure.read else {}),
            }
            for failure in wish.failures[: _SHOWN if wish.round is None else None]
        ]
    if wish.tries:
        parts["Tried before, with what became of it"] = [
            {"change": attempt.title[:200], "score before": attempt.before, "score after": attempt.after}
            for attempt in wish.tries
        ]
    if wish.round is not None:
        parts |= _round_parts(wish.round)
    if wish.others:
        parts["Other workflows for the same task"] = [{"workflow": text, "score": score} for text, score in wish.others]
    about = f" They should be about {', '.join(wish.about)}." if wish.about else ""
    if wish.node is not None:
        asked = (
            f"Suggest {wish.n} different new prompts of the node {json.dumps(wish.node)}: each candidate has one move,"
            ' {"prompt": {"node", "text"}}, and nothing else may change.'
        )
        choices = ""
    else:
        if wish.round is None:
            asked = (
                f"Suggest {wish.n} different candidates, each with one clear idea.{about} Prefer mutations of the menu and"
                " new prompts; write a whole workflow only where they can't say what you mean."
            )
        else:
            asked = _round_text(wish.n, wish.round)
        lines = [f"- {entry.id}: {entry.title}" + (f" ({entry.effect})" if entry.effect else "") for entry in menu]
        parts["The menu of mutations"] = lines
        operators = "\n".join(json.dumps(operator, ensure_ascii=False) for operator in operators_data(ground.graph))
        choices = f"{LANGUAGE}\nThe operators:\n{operators}\n\n"
    learned = "\n".join(json.dumps(example, ensure_ascii=False) for example in examples(ground.graph))
    rule = (
        "Never repeat data in a prompt: no right answers, no sentences of items. If something was tried and scored better, it"
        " may be built upon; what scored worse should not be tried again."
    )
    if wish.goal:
        asked += f" The user's goal: {json.dumps(wish.goal[:_LONGEST], ensure_ascii=False)}."
    text = f"{choices}Prompts that work in such workflows:\n{learned}\n\n{quoted(parts)}\n\n{RULE}\n\n{asked} {rule}\n\n{FORM}"
    return Message("system", _TASK), Message("user", text)


def _round_parts(asked: Round) -> dict[str, Any]:
    """What a round shows beside the workflow: its score, its experience, and the other parent."""
    parts: dict[str, Any] = {"Its score": asked.score}
    if asked.success or asked.failure:
        parts["What was tried from this workflow"] = {
            name: [{"modification": attempt.title[:200], "score": attempt.after} for attempt in several]
            for name, several in (("success", asked.success), ("failure", asked.failure))
        }
    if asked.other is not None:
        text, score = asked.other
        parts["The other parent"] = {"workflow": text, "score": score}
    return parts


def _round_text(n: int, asked: Round) -> str:
    """What a round asks for, by the operators of its loop."""
    operators = "\n".join(f"- {name}: {description}" for name, description in _ONE_PARENT.items())
    many = "one candidate" if n == 1 else f"{n} different candidates"
    if asked.other is None:
        return (
            f"Suggest {many}, each with exactly one change by one of these operators:\n{operators}\nPrefer mutations of the"
            " menu and new prompts. Don't repeat what was tried from this workflow, whatever came of it."
        )
    return (
        f"Suggest {many} that recombine the workflow and the other parent, each as a whole workflow ({CROSSOVER}:"
        f" {_TWO_PARENTS}). Where they don't fit together, change the workflow by one of these operators instead:\n{operators}\n"
    )


def repair_text(why: Unusable, attempt: int) -> str:
    """What is said of one candidate that can't be offered, for the ``attempt``-th time."""
    return (
        "This candidate can't be offered:\n"
        + quoted({"Why": list(why.sentences)})
        + f"\n\nThis is attempt {attempt} to correct it. Answer with this one candidate, corrected, in the same form.\n\n{FORM}"
    )


def written(answer: CandidateAnswer) -> str:
    """A candidate as an answer with it alone."""
    return json.dumps({"candidates": [answer.to_json()]}, ensure_ascii=False)


def again_text(why: str, attempt: int) -> str:
    """What is said of an answer that could not be read, for the ``attempt``-th time."""
    return f"{why} This is attempt {attempt}.\n\n{FORM}"
