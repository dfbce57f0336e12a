"""Dialects: what an endpoint takes and refuses for a model, learned from its answers and kept for later runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, Protocol, get_args

from merrow_runtime.errors import StoreFailure
from merrow_runtime.models.own_fields import OF_MESSAGES, sent_back
from merrow_runtime.models.thinking import Thinks
from merrow_runtime.models.tool_texts import answer_schema, with_tools_told, without_calls
from merrow_runtime.requests import AnswerSchema, Message, ModelRequest, OfferedTool
from merrow_runtime.values import canonical

LimitField = Literal["max_tokens", "max_completion_tokens", "none"]
SchemaMode = Literal["json_schema", "json_object", "none"]
ToolsMode = Literal["native", "text"]
"""Whether an endpoint takes tools as the protocol has them, or is told of them in the prompt."""

_NEXT_LIMIT: dict[LimitField, LimitField] = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "none"}
_NEXT_SCHEMA: dict[SchemaMode, SchemaMode] = {"json_schema": "json_object", "json_object": "none"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one model at one origin is spoken to. The defaults are what the OpenAI protocol says."""

    limit: LimitField = "max_tokens"
    temperature: bool = True
    schema: SchemaMode = "json_schema"
    system: bool = True
    seed: bool = True
    stream: bool = True
    stream_options: bool = True
    thinks: Thinks = "no"
    tools: ToolsMode = "native"
    own: bool = True
    """Whether it takes back what it adds to messages of its own (`own_fields`)."""

    @classmethod
    def from_json(cls, learned: Mapping[str, Any] | None) -> Dialect:
        """The inverse of `to_json`; facts that an older or newer version wrote otherwise are left out."""
        default = cls().to_json()
        kept = {
            name: value
            for name, value in (learned or {}).items()
            if name in default and type(value) is type(default[name]) and _is_possible(name, value)
        }
        return replace(cls(), **kept)

    def to_json(self) -> dict[str, Any]:
        """The facts as plain data."""
        return asdict(self)

    def differing(self, other: Dialect) -> str:
        """What this one sends and the other doesn't, in words: "`temperature`"."""
        words = {
            "limit": f"`{self.limit}`",
            "schema": "this `response_format`",
            "system": "the role `system`",
            "own": "fields of its own",
        }
        names = (entry.name for entry in fields(Dialect) if getattr(self, entry.name) != getattr(other, entry.name))
        return ", ".join(words.get(name, f"`{name}`") for name in names)

    @property
    def refused(self) -> tuple[str, ...]:
        """The parameters that decide an answer and are not taken, so that the endpoint chooses them."""
        taken = {"temperature": self.temperature, "seed": self.seed, "max_tokens": self.limit != "none"}
        return tuple(name for name, is_taken in taken.items() if not is_taken)

    def body(self, request: ModelRequest, origin: str, stream: bool) -> dict[str, Any]:
        """The request as this model at ``origin`` takes it."""
        messages = list(request.messages)
        body: dict[str, Any] = {"model": request.model}
        schema, native = request.schema, bool(request.tools) and self.tools == "native"
        if request.tools and not native:
            messages, schema = with_tools_told(messages, request.tools), answer_schema(request.tools)
        elif not native and any(message.calls for message in messages):
            messages = without_calls(messages)
        if schema is not None:
            if self.schema == "json_schema":
                body["response_format"] = _format(schema)
            else:
                messages = _instructed(messages, schema)
                if self.schema == "json_object":
                    body["response_format"] = {"type": "json_object"}
        if not self.system:
            messages = _folded(messages)
        body["messages"] = [_sent(message, origin if self.own else "") for message in messages]
        if native:
            body["tools"] = [_function(tool) for tool in request.tools]
        if self.temperature:
            body["temperature"] = request.temperature
        if request.max_tokens is not None and self.limit != "none":
            body[self.limit] = request.max_tokens
        if request.seed is not None and self.seed:
            body["seed"] = request.seed
        if stream and self.stream and (native or not request.tools):
            body["stream"] = True
            if self.stream_options:
                body["stream_options"] = {"include_usage": True}
        return body


class DialectStore(Protocol):
    """Where dialects are kept between runs."""

    def get(self, origin: str, model: str) -> Mapping[str, Any] | None: ...

    def put(self, origin: str, model: str, learned: Mapping[str, Any]) -> None: ...


class OriginDialects:
    """The dialects of one origin's models: read once, and written whenever something new was learned."""

    def __init__(self, origin: str, store: DialectStore | None = None) -> None:
        self._origin = origin
        self._store = store
        self._known: dict[str, Dialect] = {}

    def of(self, model: str) -> Dialect:
        """What is known of a model."""
        if model not in self._known:
            learned = None if self._store is None else self._store.get(self._origin, model)
            self._known[model] = Dialect.from_json(learned)
        return self._known[model]

    def learn(self, model: str, was: Dialect, now: Dialect) -> Dialect:
        """Add what ``now`` says differently from ``was`` (with which the request was sent) to what is known by now.

        Calls that run side by side may learn the same: it is added and kept once.
        """
        known = self.of(model)
        news = {
            entry.name: getattr(now, entry.name)
            for entry in fields(Dialect)
            if getattr(now, entry.name) != getattr(was, entry.name)
            and getattr(known, entry.name) == getattr(was, entry.name)
        }
        if news:
            known = self._known[model] = replace(known, **news)
            if self._store is not None:
                with suppress(StoreFailure):  # an answer may have come with it, which is not to be lost for that
                    self._store.put(self._origin, model, known.to_json())
        return known


def after_refusal(dialect: Dialect, body: Mapping[str, Any], message: str, parameter: str, code: str) -> Dialect | None:
    """The dialect to try next after an endpoint refused a request for its form; None where it refused it for another
    reason. ``message``, ``parameter`` and ``code`` are of the endpoint's error.
    """
    # A sentence that says what is wrong is short; looking through megabytes of words would take minutes.
    text = message[:_LOOKED_AT].casefold()
    named = parameter.casefold()
    is_refusal = code in _REFUSAL_CODES or _REFUSED.search(text) is not None

    def about(*words: str) -> bool:
        return is_refusal and (named in words or any(re.search(rf"\b{word}\b", text) for word in words))

    if is_refusal and any(re.search(rf"\b{name}\b", f"{named} {text}") for name in _own_names(body)):
        return replace(dialect, own=False)
    if "tools" in body and _TOOL_WORDS.search(text) and (is_refusal or named.startswith(("tool", "function"))):
        return replace(dialect, tools="text")
    if "response_format" in body and (named.startswith("response_format") or _SCHEMA_WORDS.search(text)):
        return replace(dialect, schema=_NEXT_SCHEMA[dialect.schema])
    asks_other = "max_completion_tokens" in text and dialect.limit == "max_tokens"
    if dialect.limit in body and (about(dialect.limit) or (asks_other and is_refusal)):
        return replace(dialect, limit=_NEXT_LIMIT[dialect.limit])
    for part, *words in (("stream_options",), ("stream", "streaming"), ("temperature",), ("seed",)):
        if part in body and about(part, *words):
            left_out: dict[str, Any] = {part: False}
            return replace(dialect, **left_out)
    if body["messages"][0]["role"] == "system" and _SYSTEM_WORDS.search(text) and is_refusal:
        return replace(dialect, system=False)
    return None


def _own_names(body: Mapping[str, Any]) -> set[str]:
    """The names of fields that were sent back in a request."""
    names: set[str] = set()
    for message in body["messages"]:
        names.update(name for name in OF_MESSAGES if name in message)
        for call in message.get("tool_calls", ()):
            names.update(set(call) - {"id", "type", "function"})
    return {re.escape(name.casefold()) for name in names}


def after_ignored_schema(dialect: Dialect) -> Dialect:
    """The dialect to try next after an answer to a request with a schema was no JSON at all."""
    return replace(dialect, schema=_NEXT_SCHEMA.get(dialect.schema, dialect.schema))


_LOOKED_AT = 2000
_REFUSAL_CODES = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter", "invalid_parameter"})
_REFUSED = re.compile(
    r"\b(unsupported|unrecognized|unrecognised|unknown|unexpected|deprecated|disallowed|forbidden)\b"
    r"|\bnot (?:\w+ )?(?:support|allow|permit|accept|enabled|available|implement)"
    r"|\b(?:doesn't|does not|do not|don't|can't|cannot|can not) (?:\w+ )?(?:support|allow|accept|be (?:set|used|specified))"
    r"|\bextra (?:inputs|fields)\b|\bonly\b.*\b(?:allowed|supported|accepted|default)\b|\buse '?max_completion_tokens\b"
    r"|\brequires? --\w|\bmust alternate\b|\bmust be verified\b|\bmust be (?:user|one of)\b"
)
_SCHEMA_WORDS = re.compile(
    r"response[_ ]format|json[_ ]schema|json[_ ]object|json mode|structured output|guided|grammar"
)
_TOOL_WORDS = re.compile(r"\btool(?:s|_\w+)?\b|\bfunction[ _-]?(?:call|s\b)|\bfunction\b")
_SYSTEM_WORDS = re.compile(
    r"\bsystem\b.*\b(?:role|message|prompt|instruction)|\brole\w*\b.*\bsystem\b|\bdeveloper instruction"
)


def _is_possible(name: str, value: object) -> bool:
    allowed = {"limit": LimitField, "schema": SchemaMode, "thinks": Thinks, "tools": ToolsMode}
    return name not in allowed or value in get_args(allowed[name])


def _sent(message: Message, origin: str) -> dict[str, Any]:
    sent: dict[str, Any] = {"role": message.role, "content": sendable(message.content)}
    if message.calls:
        whole, own = sent_back(message, origin)
        sent = {**whole, **sent}
        sent["tool_calls"] = [
            {
                **fields,
                "id": call.id,
                "type": "function",
                "function": {"name": sendable(call.name), "arguments": sendable(call.arguments)},
            }
            for call, fields in zip(message.calls, own, strict=True)
        ]
    if message.answers is not None:
        sent["tool_call_id"] = message.answers
    return sent


def _function(tool: OfferedTool) -> dict[str, Any]:
    function = {"name": tool.name, "description": sendable(tool.description), "parameters": dict(tool.schema)}
    return {"type": "function", "function": function}


def _format(schema: AnswerSchema) -> dict[str, Any]:
    shape: dict[str, Any] = {"name": schema.name, "schema": dict(schema.schema)}
    if _is_strict(schema.schema):
        shape["strict"] = True
    return {"type": "json_schema", "json_schema": shape}


def _is_strict(schema: object) -> bool:
    """Whether a schema keeps to the subset in which endpoints can force an answer: objects closed, every property required."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    properties = schema.get("properties")
    if schema.get("type") == "object" or properties is not None:
        names = set(properties or ())
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != names:
            return False
        return all(map(_is_strict, (properties or {}).values()))
    return all(map(_is_strict, schema.values()))


def _instructed(messages: list[Message], schema: AnswerSchema) -> list[Message]:
    """The messages with the schema as an instruction at the end of the last one, for an endpoint that can't force it;
    as they are where they speak of JSON themselves.
    """
    if not messages or any("json" in message.content.casefold() for message in messages):
        return messages
    instruction = (
        "Answer with one JSON object that is valid for this JSON Schema, and with nothing else:\n"
        + canonical(dict(schema.schema))
    )
    *before, last = messages
    return [*before, Message(last.role, f"{last.content}\n\n{instruction}")]


def sendable(text: str) -> str:
    """The text as UTF-8 can hold it: halves of surrogate pairs joined, lone ones (of an answer's escapes, of a file's
    name) replaced.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _folded(messages: list[Message]) -> list[Message]:
    """The messages with the system's text at the head of the first message of the user."""
    system = [message.content for message in messages if message.role == "system"]
    rest = [message for message in messages if message.role != "system"]
    if not system:
        return rest
    at = next((index for index, message in enumerate(rest) if message.role == "user"), None)
    if at is None:
        return [Message("user", "\n\n".join(system)), *rest]
    rest[at] = Message("user", "\n\n".join([*system, rest[at].content]))
    return rest
