"""What a model may answer: candidates as typed moves or as a whole workflow, with a title and a reason. Read with patience, and
bounded: whatever an answer holds, only this comes out of it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from merrow_runtime.asking.question import Key
from merrow_runtime.errors import AnswerFailure
from merrow_runtime.operators.formats.shapes import object_schema
from merrow_runtime.operators.formats.structured import read_json
from merrow_runtime.requests import AnswerSchema

Form = Literal["moves", "graph"]
LONGEST_ANSWER = 200_000
"""Characters of an answer that are read."""
_TITLE, _REASON, _PROMPT, _GRAPH, _MOVES = 120, 800, 8_000, 40_000, 12
SETTINGS = ("samples", "temperature")
"""The parameters that a move may set."""

_TEXT = {"type": "string"}
_MOVE = {
    "anyOf": [
        object_schema({"apply": {**_TEXT, "description": "The id of a mutation in the menu."}}),
        object_schema(
            {"prompt": object_schema({"node": _TEXT, "text": {**_TEXT, "description": "The whole new prompt."}})}
        ),
        object_schema({"set": object_schema({"node": _TEXT, "samples": {"type": "integer"}})}),
        object_schema({"set": object_schema({"node": _TEXT, "temperature": {"type": "number"}})}),
    ]
}
_CANDIDATE = object_schema(
    {
        "title": {**_TEXT, "description": "What changes, in the imperative, in a few words."},
        "reason": {**_TEXT, "description": "Why answers should get better, in a sentence or two."},
        "moves": {"type": "array", "items": _MOVE},
        "workflow": {
            "type": ["string", "null"],
            "description": "A whole Mermaid flowchart in place of moves, else null.",
        },
    }
)
KEY = Key(lambda asked: ["suggestions", asked.origin, asked.request.to_json(), asked.request.max_tokens])
"""What answers of models that suggest, judge suggestions or extract are kept under."""
SCHEMA = AnswerSchema("suggestions", object_schema({"candidates": {"type": "array", "items": _CANDIDATE}}))
FORM = """\
Answer with one JSON object and nothing else:
{"candidates": [{"title": "...", "reason": "...", "moves": [...], "workflow": null}]}
Each entry of `moves` is one of
- {"apply": "ID"}: a mutation of the menu, by its id;
- {"prompt": {"node": "ID", "text": "..."}}: the whole new prompt of a node;
- {"set": {"node": "ID", "samples": 3}} or {"set": {"node": "ID", "temperature": 0.7}}.
They are made one after another. In place of moves, `workflow` may be the text of a whole Mermaid flowchart, with `moves` [].
"""


@dataclass(frozen=True, slots=True)
class Apply:
    """A mutation of the menu by its id."""

    id: str


@dataclass(frozen=True, slots=True)
class NewPrompt:
    """The prompt of a node, as a whole."""

    node: str
    text: str


@dataclass(frozen=True, slots=True)
class NewValue:
    """Another value of one of `SETTINGS`."""

    node: str
    key: str
    value: float


Step = Apply | NewPrompt | NewValue


@dataclass(frozen=True, slots=True)
class CandidateAnswer:
    """A candidate as the model says it: ``moves``, or the text of a whole ``workflow``. Titles and reasons are plain text.

    ``problem`` says why it is neither.
    """

    title: str
    reason: str
    moves: tuple[Step, ...] = ()
    workflow: str | None = None
    problem: str | None = None

    @property
    def form(self) -> Form:
        """How the change is said."""
        return "moves" if self.workflow is None else "graph"

    def to_json(self) -> dict[str, Any]:
        """As it was said, without what was too much."""
        return {
            "title": self.title,
            "reason": self.reason,
            "moves": [_said(move) for move in self.moves],
            "workflow": self.workflow,
        }


def read_answers(text: str, most: int) -> list[CandidateAnswer]:
    """The first ``most`` candidates of an answer. Raises `AnswerFailure` where it has none."""
    if len(text) > LONGEST_ANSWER:
        raise AnswerFailure(
            "The answer is too long.", advice=f"Answer in less than {LONGEST_ANSWER} characters. {FORM}"
        )
    try:
        parsed = read_json(text)
    except AnswerFailure:
        raise AnswerFailure("The answer is not JSON.", advice=FORM) from None
    listed: object = parsed
    if isinstance(parsed, dict):
        # One candidate may come without the list around it.
        listed = parsed.get("candidates", [parsed] if parsed.keys() & {"moves", "workflow"} else None)
        listed = [listed] if isinstance(listed, dict) else listed
    if not isinstance(listed, list):
        raise AnswerFailure("The answer has no `candidates`.", advice=FORM)
    answers = [_answer(entry) for entry in listed[:most] if isinstance(entry, dict)]
    if not answers:
        raise AnswerFailure("The answer has no candidate.", advice=FORM)
    return answers


def plain(text: object, most: int) -> str:
    """A text of a model as one line of plain text: nothing that drives a terminal or hides, and not longer than ``most``."""
    if not isinstance(text, str):
        return ""
    shown = "".join(" " if _is_blank(mark) else mark for mark in text[: 4 * most] if _is_blank(mark) or _is_shown(mark))
    line = " ".join(shown.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _is_blank(mark: str) -> bool:
    return mark in "\t\n\r\x0b\x0c\x85\u2028\u2029" or unicodedata.category(mark) == "Zs"


def _is_shown(mark: str) -> bool:
    return unicodedata.category(mark) not in ("Cc", "Cf", "Cs", "Co", "Cn")


def _answer(entry: Mapping[str, Any]) -> CandidateAnswer:
    title = plain(entry.get("title"), _TITLE) or "A change without a title"
    reason = plain(entry.get("reason"), _REASON)
    workflow, moves = entry.get("workflow"), entry.get("moves")
    if isinstance(workflow, str) and workflow.strip():
        if len(workflow) > _GRAPH:
            return CandidateAnswer(
                title, reason, workflow="", problem=f"The workflow is longer than {_GRAPH:,} characters."
            )
        return CandidateAnswer(title, reason, workflow=workflow)
    if not isinstance(moves, list) or not moves:
        return CandidateAnswer(title, reason, problem="The candidate has neither `moves` nor a `workflow`.")
    if len(moves) > _MOVES:
        return CandidateAnswer(title, reason, problem=f"The candidate has more than {_MOVES} moves.")
    steps: list[Step] = []
    for number, entry in enumerate(moves, 1):
        step = _step(entry)
        if isinstance(step, str):
            return CandidateAnswer(title, reason, tuple(steps), problem=f"Move {number}: {step}")
        steps.append(step)
    return CandidateAnswer(title, reason, tuple(steps))


def _step(entry: object) -> Step | str:
    """A move, or a sentence that says what is wrong with it."""
    if not isinstance(entry, dict) or sum(key in entry for key in ("apply", "prompt", "set")) != 1:
        return "a move has exactly one of `apply`, `prompt` and `set`."
    if "apply" in entry:
        return Apply(entry["apply"]) if isinstance(entry["apply"], str) else "`apply` must be the id of a mutation."
    inner = entry.get("prompt", entry.get("set"))
    if not isinstance(inner, dict) or not isinstance(inner.get("node"), str):
        return "`prompt` and `set` must name a `node`."
    node = inner["node"]
    if "prompt" in entry:
        text = inner.get("text")
        if not isinstance(text, str) or not text.strip() or len(text) > _PROMPT:
            return f"`text` must be the new prompt, of at most {_PROMPT:,} characters."
        return NewPrompt(node, text.strip("\n"))
    named = [key for key in inner if key != "node" and inner[key] is not None]
    if len(named) != 1 or named[0] not in SETTINGS:
        return "`set` must give `samples` or `temperature`, and nothing else."
    value = inner[named[0]]
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or (named[0] == "samples" and value != int(value))
    ):
        return f"`{named[0]}` must be a number."
    return NewValue(node, named[0], int(value) if named[0] == "samples" else float(value))


def _said(move: Step) -> dict[str, Any]:
    if isinstance(move, Apply):
        return {"apply": move.id}
    if isinstance(move, NewPrompt):
        return {"prompt": {"node": move.node, "text": move.text}}
    return {"set": {"node": move.node, move.key: move.value}}
