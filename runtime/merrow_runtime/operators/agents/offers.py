"""What an agent is offered: its tools by names that endpoints take, and what it may ask of each."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from merrow_analysis.bounded.schema_check import SchemaRefusedError
from merrow_analysis.bounded.schema_forms import problem_of_schema
from merrow_analysis.bounded.schemas import first_fault
from merrow_analysis.tools.listed import PERSON
from merrow_runtime.models.redaction import quoted
from merrow_runtime.operators.base import NodeDefinition
from merrow_runtime.records import record
from merrow_runtime.requests import LONGEST_ARGUMENTS, AskedCall, OfferedTool
from merrow_runtime.values import canonical, from_json, is_deeper

TOOLS, MAX = "tools", "max"
NAME, PIN, DESCRIPTION, SCHEMA = "name", "pin", "description", "schema"
"""Parameters of its definition: of each of its ``tools`` these, in the order in which they are offered; and its most steps."""

_LONGEST_NAME = 64
_MOST_STEPS = 20_000
_DEEPEST = 49
_MOST_CHOICES = 50
_ASK_PERSON = OfferedTool(
    PERSON,
    "Ask a person who knows more about the task than you, and wait for the answer. Ask only what you can't find out yourself.",
    {
        "type": "object",
        "properties": {
            "question": {"type": "string", "minLength": 1, "maxLength": 10_000},
            "choices": {
                "type": "array",
                "description": "What the person may choose from; leave it out for an answer in words.",
                "items": {"type": "string", "minLength": 1, "maxLength": 200},
                "maxItems": _MOST_CHOICES,
            },
        },
        "required": ["question"],
        "additionalProperties": False,
    },
)


@record(frozen=True, slots=True)
class ToolOffer:
    """A tool as an agent is offered it. ``name`` is its name in workflows, ``pin`` is None where a person is asked."""

    name: str
    pin: str | None
    tool: OfferedTool


@record(frozen=True, slots=True)
class UnusableCall:
    """A call that is not made. ``name`` is what the model called; ``told`` is why, as a sentence for the model and for people."""

    name: str
    told: str


def call_title(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call in one line, for people."""
    return f"{tool}({quoted(canonical(dict(arguments)))})"


def calls_title(names: Sequence[str]) -> str:
    """What a model asks for in a step, in one line: the calls of tools with these ``names``, or none."""
    return f"calls {quoted(', '.join(names))}" if names else "answers"


def offered_tools(node: NodeDefinition) -> list[tuple[str, str]]:
    """The tools that an agent may use, by their names in workflows and their pins; a person among them."""
    tools = node.parameters[TOOLS]
    return (
        [(str(tool[NAME]), str(tool[PIN])) for tool in tools if isinstance(tool, dict)]
        if isinstance(tools, list)
        else []
    )


def most_steps(node: NodeDefinition) -> int:
    """In how many steps an agent may use tools."""
    most = node.parameters[MAX]
    assert isinstance(most, int)  # noqa: S101 (as it is made)
    return most


class ToolOffers:
    """All that an agent is offered."""

    def __init__(self, node: NodeDefinition) -> None:
        """``node`` is the definition of the agent."""
        described = node.parameters[TOOLS]
        assert isinstance(described, list)  # noqa: S101 (as it is made)
        self._offers: dict[str, ToolOffer] = {}
        for body in described:
            assert isinstance(body, dict)  # noqa: S101 (as it is made)
            name = str(body[NAME])
            sent = sent_name(name, self._offers)
            schema = body[SCHEMA]
            assert isinstance(schema, dict)  # noqa: S101 (as it is made)
            tool = _ASK_PERSON if name == PERSON else OfferedTool(sent, str(body[DESCRIPTION]), schema)
            self._offers[sent] = ToolOffer(name, None if name == PERSON else str(body[PIN]), tool)

    @property
    def tools(self) -> tuple[OfferedTool, ...]:
        """The tools as the model is told of them."""
        return tuple(offer.tool for offer in self._offers.values())

    def meant(self, call: AskedCall) -> tuple[ToolOffer, dict[str, Any]] | UnusableCall:
        """The tool that a call asks for, and the arguments; or why it is not made."""
        offer = self._found(call.name)
        if offer is None:
            names = ", ".join(self._offers)
            return UnusableCall(call.name, f"There is no such tool. You have: {names}.")
        if len(call.arguments) > LONGEST_ARGUMENTS:
            told = f"Its arguments have more than {LONGEST_ARGUMENTS:,} characters. Send less."
            return UnusableCall(offer.name, told)
        try:
            arguments = from_json(call.arguments or "{}")
        except (ValueError, RecursionError):
            return UnusableCall(offer.name, "Its arguments are not valid JSON. Send one JSON object.")
        if not isinstance(arguments, dict):
            return UnusableCall(offer.name, "Its arguments are not a JSON object. Send one.")
        if is_deeper(arguments, _DEEPEST):
            return UnusableCall(offer.name, f"Its arguments have more than {_DEEPEST} levels. Send flatter ones.")
        fault = _fault(offer.tool.schema, arguments)
        return (offer, arguments) if fault is None else UnusableCall(offer.name, f"Its arguments don't fit: {fault}.")

    def _found(self, name: str) -> ToolOffer | None:
        """The tool that a name means: exactly, in another case, or as workflows call it."""
        wanted = name.strip()
        known = self._offers.get(wanted)
        alike = [
            offer
            for sent, offer in self._offers.items()
            if wanted.casefold() in (sent.casefold(), offer.name.casefold())
        ]
        return known or (alike[0] if len(alike) == 1 else None)


def sent_name(name: str, taken: Iterable[str]) -> str:
    """The name by which endpoints are told of a tool: at most 64 of the characters that they take, and none that is taken."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", name.replace(".", "__", 1))
    known = {other.casefold() for other in taken} | ({PERSON} if name != PERSON else set())
    if len(plain) <= _LONGEST_NAME and plain.casefold() not in known:
        return plain
    hashed = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{plain[: _LONGEST_NAME - len(hashed) - 1]}_{hashed}"


def _fault(schema: Mapping[str, Any], arguments: dict[str, Any]) -> str | None:
    """What is wrong with arguments; None where nothing is, and where the schema can't be worked through: servers look, too."""
    try:
        if problem_of_schema(schema) is not None:
            return None
        fault = first_fault(schema, arguments, _MOST_STEPS)
    except SchemaRefusedError:
        return None
    if fault is None:
        return None
    return f"{fault.message} (at {fault.place})" if fault.place else fault.message
