"""Whether a call that a model asks for may be made: by the user's settings, else by what a person says.

A person may allow it once or in the whole run. That is kept as any answer of a person is, and a resume finds it there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from merrow_analysis.people.forms import ANSWER, NOTE, Form, FormField
from merrow_analysis.visible import plain
from merrow_runtime.requests import PersonAnswer, PersonQuestion, ToolCall
from merrow_runtime.store.contract import AskRecord

Said = Literal["once", "run", "refuse", "stop"]
ONCE: Final = "once"
IN_RUN: Final = "run"
REFUSE: Final = "refuse"
STOP: Final = "stop"
"""What a person may say of a call that a model asks for."""

_LABELS = ("Allow it once", "Allow this tool in this run", "Refuse it (say why, the model is told)", "Stop")
_LONGEST_SHOWN = 20_000
_STEP = " permission"
_TOOL = "Tool"


def permission_step(step: str) -> str:
    """The step in which a person is asked about a call."""
    return f"{step}{_STEP}"


def permission_question(call: ToolCall, node: str) -> PersonQuestion:
    """What a person is asked, and shown: the server, the tool and its arguments."""
    server, _, tool = call.tool.partition(".")
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False, indent=2)
    shown = [("Server", server), (_TOOL, tool)]
    if len(arguments) > _LONGEST_SHOWN:
        more = f"{len(arguments) - _LONGEST_SHOWN:,} more characters are left out: refuse it if you must see them."
        arguments = f"{arguments[:_LONGEST_SHOWN]}\n... ({more})"
    shown.append(("Arguments", plain(arguments)))
    words = (ONCE, IN_RUN, REFUSE, STOP)
    answer = FormField(ANSWER, "word", "May it?", words=words, labels=_LABELS)
    note = FormField(NOTE, "text", "Why not", required=False)
    return PersonQuestion(
        f"The model of {node} wants to call {call.tool}. May it?", Form((answer, note)).schema(), shown
    )


@dataclass(frozen=True, slots=True)
class Permission:
    """What a person said. ``why`` is for the model."""

    said: Said
    why: str = ""


def permission_of(answer: PersonAnswer) -> Permission:
    """What an answer says; one that does not fit, or none, refuses."""
    said, why = answer.content.get(ANSWER), answer.content.get(NOTE)
    allowed = {ONCE: Permission(ONCE), IN_RUN: Permission(IN_RUN), STOP: Permission(STOP)}
    refused = Permission(REFUSE, why if isinstance(why, str) else "")
    return allowed.get(str(said), refused) if answer.action == "accept" else refused


def allowed_in_run(asks: Iterable[AskRecord]) -> set[str]:
    """The tools that people have allowed for a whole run."""
    allowed: set[str] = set()
    for ask in asks:
        if ask.key.step.endswith(_STEP) and ask.state == "answered" and (ask.answer or {}).get(ANSWER) == IN_RUN:
            shown = {part["title"]: part["text"] for part in ask.question.get("shown", ())}
            allowed.add(f"{shown.get('Server')}.{shown.get(_TOOL)}")
    return allowed
