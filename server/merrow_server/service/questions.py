"""Questions of served runs to people, as clients are shown them, and the answers that clients send."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from merrow_runtime.store.contract import AskRecord

_KEYS = ("node", "path", "value", "form", "decline")
_LONGEST_TEXT = 100_000
"""Characters of a question with all that is shown with it, where it is sent as one text."""
_LONGEST_NAMED = 200
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class SentAnswer:
    """An answer as a client sends it: the node, the path of its turn, item or call where that is said, and what it gives: a text
    as `merrow answer` takes it, fields of the form, or None to decline.
    """

    node: str
    path: str | None
    given: str | Mapping[str, Any] | None

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> SentAnswer:
        """The answer that a JSON object says. Raises ValueError with a sentence for anything else."""
        unknown = next((key for key in body if key not in _KEYS), None)
        if unknown is not None:
            raise ValueError(f"An answer has no {ascii(unknown)[:_LONGEST_NAMED]}; it has: {', '.join(_KEYS)}.")
        node, path = body.get("node"), body.get("path")
        if not isinstance(node, str) or not node:
            raise ValueError("`node` must be the id of the node that asks.")
        if path is not None and not isinstance(path, str):
            raise ValueError("`path` must be a text, as the question has it.")
        given = [key for key in ("value", "form") if body.get(key) is not None]
        if body.get("decline") not in (None, False, True):
            raise ValueError("`decline` must be true.")
        if body.get("decline"):
            given.append("decline")
        if len(given) != 1:
            raise ValueError('An answer has one of these: `value`, `form`, or `"decline": true`.')
        if given == ["decline"]:
            return cls(node, path, None)
        value = body[given[0]]
        if given == ["form"]:
            if not isinstance(value, Mapping):
                raise ValueError("`form` must be a JSON object with a field for each part of the answer.")
            return cls(node, path, value)
        return cls(node, path, value if isinstance(value, str) else json.dumps(value))

    def visit(self, asks: Sequence[AskRecord]) -> str:
        """What the visit that is meant is called, ``asks`` being all that the run has asked."""
        if self.path is None:
            return self.node
        own = (ask.visit for ask in reversed(asks))
        found = next((visit for visit in own if (visit.node, visit.path) == (self.node, self.path)), None)
        return (f"{self.path}/{self.node}" if self.path else self.node) if found is None else found.name


def shown_question(ask: AskRecord) -> dict[str, Any]:
    """An open question as clients are shown it."""
    question = ask.question
    shown: dict[str, Any] = {
        "node": ask.visit.node,
        "path": ask.visit.path,
        "question": question.get("ask", ""),
        "schema": question.get("schema", {}),
        "shown": question.get("shown", []),
        "asked": ask.asked,
        "due": ask.due,
    }
    problems = question.get("problems")
    return {**shown, "problems": problems} if problems else shown


def question_text(ask: AskRecord, problem: str = "") -> str:
    """A question with all that a person is shown, as one text; ``problem`` is what was wrong with the answer before."""
    question = ask.question
    problems = [*([problem] if problem else []), *map(str, question.get("problems", []))]
    parts = [f"An earlier answer was not accepted: {sentence}" for sentence in problems]
    parts += [f"{section['title']}:\n{section['text']}" for section in question.get("shown", [])]
    text = "\n\n".join(parts)
    if len(text) > _LONGEST_TEXT:
        text = f"{text[:_LONGEST_TEXT]}\n... ({len(text) - _LONGEST_TEXT:,} more characters are left out)"
    asked = f"{ask.visit.name} asks: {question.get('ask', '')}"
    return f"{text}\n\n{asked}" if text else asked


def waiting_text(run: str, asks: Sequence[AskRecord]) -> str:
    """That a run waits for people, and how its questions are answered, for clients that can't ask their user."""
    if not asks:
        return f"Run {run} waits for a person. Continue it with: merrow resume {run}"
    lines = [f"Run {run} waits for a person. Answer its questions, and it continues:"]
    for ask in asks[:_MOST_NAMED]:
        text = " ".join(str(ask.question.get("ask", "")).split())
        short = text if len(text) <= _LONGEST_NAMED else f"{text[: _LONGEST_NAMED - 3]}..."
        lines.append(f"{ask.visit.name} asks: {short} Answer with: merrow answer {run} {ask.visit.name} VALUE")
    if len(asks) > _MOST_NAMED:
        lines.append(f"{len(asks) - _MOST_NAMED} more questions are listed by: merrow runs --waiting")
    return "\n".join(lines)
