"""What is asked of a model and what it answers, without any endpoint's dialect."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, Literal

from merrow_runtime.records import record
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.values import canonical, number_text
from merrow_runtime.visit import Visit

Role = Literal["system", "user", "assistant", "tool"]
Finish = Literal["stop", "length", "refusal"]
_COMPACT = json.JSONEncoder(separators=(",", ":"))
Origin = Literal["endpoint", "journal", "cache", "replay", "shared"]


@record(frozen=True, slots=True)
class AskedCall:
    """A call of a tool that a model asks for. ``name`` is the tool as the model calls it, and ``arguments`` what it wrote for
    them, which may be anything; of texts beyond `LONGEST_ARGUMENTS` characters it is only the beginning.
    """

    id: str
    name: str
    arguments: str

    def to_json(self) -> dict[str, Any]:
        """The call as requests and replies have it."""
        return {"id": self.id, "name": self.name, "arguments": self.arguments}


Vector = bytes
"""The numbers that a model makes of a text, as 32-bit floats in the machine's order of bytes. Its length is 1, or 0 where all of
them are 0.
"""

LONGEST_ARGUMENTS = 200_000
"""Characters of the arguments that a model may write for one call."""


@record(frozen=True, slots=True)
class OwnFields:
    """What an endpoint adds of its own to a message with calls, and wants back with it: signatures of thoughts, for example. It
    is for the endpoint at ``origin`` alone. ``text`` is JSON, as `merrow_runtime.models.own_fields` writes and reads it.
    """

    origin: str
    text: str

    def to_json(self) -> dict[str, Any]:
        """The fields as requests and replies have them."""
        return {"origin": self.origin, "text": self.text}


@record(frozen=True, slots=True)
class Message:
    """One message of a conversation. ``calls`` are those that a message of the model asks for, with the ``own`` fields of the
    endpoint; ``answers`` is the id of the call whose result a message with the role ``tool`` has.
    """

    role: Role
    content: str
    calls: tuple[AskedCall, ...] = ()
    answers: str | None = None
    own: OwnFields | None = None

    def to_json(self) -> dict[str, Any]:
        """The message as requests have it."""
        shown: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.calls:
            shown["calls"] = [call.to_json() for call in self.calls]
        if self.answers is not None:
            shown["answers"] = self.answers
        if self.own is not None:
            shown["own"] = self.own.to_json()
        return shown

    @property
    def canonical_text(self) -> str:
        """`canonical` of `to_json`, put together here since that takes a third of the time of a walk through the object."""
        answers = "" if self.answers is None else f'"answers":{encode_basestring(self.answers)},'
        calls = "" if not self.calls else f'"calls":{canonical([call.to_json() for call in self.calls])},'
        own = "" if self.own is None else f'"own":{canonical(self.own.to_json())},'
        return f'{{{answers}{calls}"content":{encode_basestring(self.content)},{own}"role":"{self.role}"}}'


@record(frozen=True, slots=True)
class OfferedTool:
    """A tool that a model may ask for: the name by which it does, what it is told of it, and the JSON Schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The tool as requests have it."""
        return {"name": self.name, "description": self.description, "schema": dict(self.schema)}


@record(frozen=True, slots=True)
class AnswerSchema:
    """The shape a structured answer must have: a JSON Schema of an object, and the name it goes by."""

    name: str
    schema: Mapping[str, Any]


@record(frozen=True, slots=True)
class ModelRequest:
    """One question to a model. ``max_tokens`` and ``seed`` are not sent where they are None; ``timeout`` is in seconds,
    for one try, and is no part of the request's identity. With ``embeds`` there are no messages: what is wanted are the vectors
    of these texts.
    """

    model: str
    messages: tuple[Message, ...]
    temperature: float = 0.0
    max_tokens: int | None = None
    seed: int | None = None
    schema: AnswerSchema | None = None
    timeout: float | None = None
    tools: tuple[OfferedTool, ...] = ()
    embeds: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Everything that decides the answer, as plain data."""
        if self.embeds:
            return {"model": self.model, "embeds": list(self.embeds)}
        shown: dict[str, Any] = {
            "model": self.model,
            "messages": [message.to_json() for message in self.messages],
            "temperature": self.temperature,
        }
        if self.max_tokens is not None:
            shown["max_tokens"] = self.max_tokens
        if self.seed is not None:
            shown["seed"] = self.seed
        if self.schema is not None:
            shown["schema"] = {"name": self.schema.name, "schema": dict(self.schema.schema)}
        if self.tools:
            shown["tools"] = [tool.to_json() for tool in self.tools]
        return shown

    def canonical_text(self) -> str:
        """`canonical` of `to_json`, put together here since that takes a third of the time of a walk through the object.

        Raises ``ValueError`` where a number is none.
        """
        if self.embeds:
            return canonical(self.to_json())
        if not math.isfinite(self.temperature):
            raise ValueError("Out of range float values are not JSON compliant")
        messages = ",".join([message.canonical_text for message in self.messages])
        tokens = "" if self.max_tokens is None else f'"max_tokens":{self.max_tokens!r},'
        seed = "" if self.seed is None else f'"seed":{self.seed!r},'
        schema = ""
        if self.schema is not None:
            schema = f'"schema":{canonical({"name": self.schema.name, "schema": dict(self.schema.schema)})},'
        tools = "" if not self.tools else f',"tools":{canonical([tool.to_json() for tool in self.tools])}'
        model = f'"model":{encode_basestring(self.model)},'
        return f'{{{tokens}"messages":[{messages}],{model}{schema}{seed}"temperature":{self.temperature!r}{tools}}}'

    @property
    def hash(self) -> str:
        """SHA-256 of `canonical_text`, in hexadecimal: what journals and recordings match by."""
        return hashlib.sha256(self.canonical_text().encode("utf-8", "surrogatepass")).hexdigest()


@record(frozen=True, slots=True)
class ModelReply:
    """What a model answered. ``thinking`` is what it wrote between thinking marks, taken out of ``text``; ``model`` is
    the name the endpoint gave; ``seconds`` is the time of the call that brought it. ``calls`` are those of tools that it asks
    for, with the ``own`` fields of the endpoint. ``vectors`` are those of the texts that were to be embedded, in their order and
    of one length; they are in none of the forms in which replies are kept.
    """

    text: str
    finish: Finish = "stop"
    usage: Usage = NOTHING
    model: str = ""
    seconds: float = 0.0
    thinking: str = ""
    calls: tuple[AskedCall, ...] = ()
    own: OwnFields | None = None
    vectors: tuple[Vector, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The reply as the journal, the cache and recordings keep it."""
        shown: dict[str, Any] = {
            "text": self.text,
            "finish": self.finish,
            "usage": self.usage.to_json(),
            "model": self.model,
            "seconds": self.seconds,
            "thinking": self.thinking,
        }
        if self.calls:
            shown["calls"] = [call.to_json() for call in self.calls]
        if self.own is not None:
            shown["own"] = self.own.to_json()
        return shown

    def json_text(self) -> str:
        """`to_json` as JSON, put together here since that takes a fifth of the time of a walk through the object.

        It has no character beyond ASCII: escapes keep what no database takes, lone surrogates.
        """
        usage = self.usage
        cost = "null" if usage.cost_usd is None else number_text(usage.cost_usd)
        estimated = ',"estimated":true' if usage.estimated else ""
        calls = f',"calls":{_COMPACT.encode([call.to_json() for call in self.calls])}' if self.calls else ""
        own = "" if self.own is None else f',"own":{_COMPACT.encode(self.own.to_json())}'
        return (
            f'{{"text":{encode_basestring_ascii(self.text)},"finish":"{self.finish}","usage":{{"prompt_tokens":{usage.prompt_tokens},'
            f'"completion_tokens":{usage.completion_tokens},"calls":{usage.calls},"cost_usd":{cost}{estimated}}},'
            f'"model":{encode_basestring_ascii(self.model)},"seconds":{number_text(self.seconds)},"thinking":{encode_basestring_ascii(self.thinking)}{calls}{own}}}'
        )

    @classmethod
    def from_json(cls, shown: Mapping[str, Any]) -> ModelReply:
        """The inverse of `to_json`."""
        return cls(
            shown["text"],
            shown["finish"],
            Usage.from_json(shown["usage"]),
            shown["model"],
            shown["seconds"],
            shown["thinking"],
            tuple(
                AskedCall(str(call["id"]), str(call["name"]), str(call["arguments"])) for call in shown.get("calls", ())
            ),
            None if "own" not in shown else OwnFields(str(shown["own"]["origin"]), str(shown["own"]["text"])),
        )


@record(frozen=True, slots=True)
class CallKey:
    """Which call of a run this is. With the request's hash it is the durable unit: a call that finished is never made
    again.

    ``node``, ``path`` and ``redo`` are those of its visit, see `merrow_runtime.visit`. ``step`` says what the operator asks
    for (``answer``, ``vote 3``, ``reflect 2``, ``memory``); ``attempt`` counts from 0 the times it was asked again since an
    answer could not be used. Tries that failed on the way are not attempts.
    """

    node: str
    sample: int
    step: str
    attempt: int = 0
    path: str = ""
    redo: int = 0

    @property
    def visit(self) -> Visit:
        """The execution of the node that makes the call."""
        return Visit(self.node, self.path, self.redo)


PersonAction = Literal["accept", "decline", "expire"]


@record(frozen=True, slots=True)
class PersonQuestion:
    """A question to a person. ``ask`` says what is asked, ``shown`` what it is about, each a title with a text, and ``schema`` is
    the form of the answer: that of an elicitation of the Model Context Protocol, a flat object. A text to edit is the
    default of its field there. ``problems`` says why an earlier answer was not accepted. All but the schema is made to be shown
    as it is, without control characters.
    """

    ask: str
    schema: Mapping[str, Any]
    shown: Sequence[tuple[str, str]] = ()
    problems: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        """The question as events, doors and the journal have it."""
        shown: dict[str, Any] = {"ask": self.ask, "schema": dict(self.schema)}
        if self.shown:
            shown["shown"] = [{"title": title, "text": text} for title, text in self.shown]
        if self.problems:
            shown["problems"] = list(self.problems)
        return shown


@record(frozen=True, slots=True)
class PersonAnswer:
    """What came of a question to a person: a form that was filled in (``accept``, with its ``content``), a refusal to answer
    (``decline``), or nothing in time (``expire``). ``by`` is who it was.
    """

    action: PersonAction
    content: Mapping[str, Any] = field(default_factory=dict)
    by: str = ""

    def to_json(self) -> dict[str, Any]:
        """The answer as the result of its call."""
        return {"action": self.action, "content": dict(self.content), "by": self.by}

    @classmethod
    def from_json(cls, shown: Mapping[str, Any]) -> PersonAnswer:
        """The inverse of `to_json`. Raises KeyError or TypeError for anything else."""
        return cls(shown["action"], dict(shown["content"]), str(shown["by"]))


@record(frozen=True, slots=True)
class ToolCall:
    """A call of a ``tool``, by its name in workflows (``web.search``), with ``arguments`` as its schema has them. ``pin`` is the
    hash of what the server said of the tool when it was pinned: a call means something only together with that.
    """

    tool: str
    pin: str
    arguments: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The call as the journal and recordings keep it."""
        return {"tool": self.tool, "pin": self.pin, "arguments": dict(self.arguments)}


@record(frozen=True, slots=True)
class EnvironmentAction:
    """What is done in an environment ``env``: an ``action``, or a reset with a ``task`` where that is None. ``of`` says which
    environment is meant by that name, and in which version.
    """

    env: str
    of: Mapping[str, Any]
    action: str | None
    task: Any

    def to_json(self) -> dict[str, Any]:
        """As the journal and recordings keep it."""
        done = {"task": self.task} if self.action is None else {"action": self.action}
        return {"env": self.env, "of": dict(self.of), **done}


@record(frozen=True, slots=True)
class ToolResult:
    """What a tool gave: a ``text`` to read, and ``fields`` where its schema says which there are. ``failed`` is set where the
    tool says that it could not do it; the text says why. With ``refused`` it is not the tool that says so: its server refused
    the call, or what it gave can't be used, and the text is a sentence.
    """

    text: str
    fields: Mapping[str, Any] | None = None
    failed: bool = False
    refused: bool = False

    def to_json(self) -> dict[str, Any]:
        """The result of its call."""
        shown: dict[str, Any] = {"text": self.text}
        if self.fields is not None:
            shown["fields"] = dict(self.fields)
        if self.failed:
            shown["failed"] = True
        if self.refused:
            shown["refused"] = True
        return shown

    @classmethod
    def from_json(cls, shown: Mapping[str, Any]) -> ToolResult:
        """The inverse of `to_json`. Raises KeyError or TypeError for anything else."""
        fields = shown.get("fields")
        given = None if fields is None else dict(fields)
        return cls(str(shown["text"]), given, bool(shown.get("failed")), bool(shown.get("refused")))


@record(frozen=True, slots=True)
class ToolQuestion:
    """What a server wants to know from a person before it answers a call, or while it does: its ``message`` with the ``schema``
    of a form, or with a ``url`` that the person is to open. ``key`` is what the server calls it.
    """

    key: str
    message: str
    schema: Mapping[str, Any] | None = None
    url: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The question as the journal keeps it."""
        shown: dict[str, Any] = {"key": self.key, "message": self.message}
        return shown | ({"url": self.url} if self.schema is None else {"schema": dict(self.schema)})

    @classmethod
    def from_json(cls, shown: Mapping[str, Any]) -> ToolQuestion:
        """The inverse of `to_json`. Raises KeyError or TypeError for anything else."""
        schema = shown.get("schema")
        url = None if schema is not None else str(shown["url"])
        return cls(str(shown["key"]), str(shown["message"]), None if schema is None else dict(schema), url)


@record(frozen=True, slots=True)
class ToolQuestions:
    """What a server answers in the place of a result: its questions, and the ``state`` with which it is called again."""

    questions: Sequence[ToolQuestion]
    state: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The answer as the journal keeps it."""
        shown: dict[str, Any] = {"questions": [question.to_json() for question in self.questions]}
        return shown if self.state is None else {**shown, "state": self.state}

    @classmethod
    def from_json(cls, shown: Mapping[str, Any]) -> ToolQuestions:
        """The inverse of `to_json`. Raises KeyError or TypeError for anything else."""
        state = shown.get("state")
        return cls([ToolQuestion.from_json(each) for each in shown["questions"]], None if state is None else str(state))


@record(frozen=True, slots=True)
class ToolLeg:
    """What a call of a tool brings after a server has asked: the ``answers`` by the keys of its questions, each an ``action``
    with its ``content``, and its ``state``. The first leg of a call brings nothing.
    """

    answers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    state: str | None = None


StepKind = Literal["model", "tool", "person"]
"""What an agent does in a step of it: it asks its model, uses a tool, or asks a person."""


@dataclass(slots=True)
class Conversation:
    """The messages between an agent and its model, to which more are added. ``sent`` is the hash of the request that was sent
    last, and how many of the messages it had: what is sent next is kept as what was added since.
    """

    messages: list[Message]
    sent: tuple[str, int] | None = None
