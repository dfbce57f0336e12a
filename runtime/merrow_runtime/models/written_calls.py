"""Calls of tools that a model writes into its text, since its endpoint does not read them: the habits of families of models.

A text is such calls only if it is nothing else. What a model was given may hold calls, too, and an answer may repeat it: so a
call is none where its arguments are written like that in what the model was given. Whatever is in doubt stays an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from merrow_runtime.models.asked_calls import MOST_CALLS, call_id
from merrow_runtime.requests import LONGEST_ARGUMENTS, AskedCall, Message, OfferedTool

_LONGEST = 1_000_000
"""Characters of a text that is looked at."""

_OPENS = re.compile(
    r"<(?P<tag>tool_call|tool_calls|tools|function_call)>|<\|(?P<bar>tool_call|tool_calls|python_tag)\|>"
    r"|(?P<mistral>\[TOOL_CALLS\])|(?P<function>)(?=<function=)|```(?P<fence>json|tool_calls?|)[ \t]*\n"
)
_CLOSES = {
    "tag": re.compile(r"</(?:tool_calls?|tools|function_call)>"),
    "bar": re.compile(r"<\|/tool_calls?\|>|<\|end_of_tool_calls?\|>"),
    "mistral": re.compile(r"\[/TOOL_CALLS\]"),
    "function": re.compile(r""),
    "fence": re.compile(r"```"),
}
_MUST_CLOSE = frozenset({"fence"})
_ENDS = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|endoftext|>", "</s>")
_MOST_ENDS = 4
_SPACE = re.compile(r"\s*")
_BETWEEN = re.compile(r"[\s;,]*")
_NAMED = re.compile(r"([A-Za-z0-9_.-]{1,200})(?:\[CALL_ID\][A-Za-z0-9]{1,64})?(?:\[ARGS\])?\s*(?=\{)")
_FUNCTION = re.compile(r"<function=([A-Za-z0-9_.-]{1,200})>\s*")
_FUNCTION_ENDS = re.compile(r"\s*</function>")
_PARAMETER = re.compile(r"\s*<parameter=([^<>\n]{1,200})>\n?")
_PARAMETER_ENDS = "</parameter>"
_MOST_PARAMETERS = 1_000
_KEYS = frozenset({"name", "arguments", "parameters", "type", "id", "function"})


class _NoCallError(Exception):
    """A text is something else."""


@dataclass(frozen=True, slots=True)
class _Written:
    """A call as it is written: ``source`` is the text in which it is."""

    name: str
    arguments: str
    source: str
    is_marked: bool


def written_calls(text: str, tools: Sequence[OfferedTool], messages: Iterable[Message]) -> tuple[AskedCall, ...]:
    """The calls of ``tools`` that a text is, and nothing else; none where it is an answer. ``messages`` are what the model was
    given.
    """
    body = _without_ends(text) if len(text) <= _LONGEST else ""
    if not body.startswith(("<", "[", "{", "```")):
        return ()
    names = {tool.name.casefold(): tool for tool in tools}
    try:
        written = list(_written(body, names))
    except (_NoCallError, ValueError, RecursionError):
        return ()
    if len(written) > MOST_CALLS or not all(one.is_marked or one.name.casefold() in names for one in written):
        return ()
    if repeats_what_was_given(messages, [(one.source, one.name, one.arguments) for one in written]):
        return ()
    return tuple(
        AskedCall(call_id(number), one.name, one.arguments[: LONGEST_ARGUMENTS + 1])
        for number, one in enumerate(written, 1)
    )


def _without_ends(text: str) -> str:
    """A text without the marks with which models end one, and without space around it."""
    body = text.strip()
    for _ in range(_MOST_ENDS):
        end = next((end for end in _ENDS if body.endswith(end)), None)
        if end is None:
            break
        body = body.removesuffix(end).rstrip()
    return body


def repeats_what_was_given(messages: Iterable[Message], calls: Iterable[tuple[str, str, str]]) -> bool:
    """Whether one of some calls, each the text that it is written in, its name and its arguments as JSON, is in what a model was
    given: that text, or such arguments near that name.
    """
    wanted = {tuple(map(_plain, call)) for call in calls}
    given = [_plain(message.content) for message in messages if message.role != "assistant"]
    return any(
        source in text or _are_near(name, arguments, text) for text in given for source, name, arguments in wanted
    )


_NEAR = 60
"""Characters between the name and the arguments of a call, at most."""


def _are_near(name: str, arguments: str, text: str) -> bool:
    if name not in text:
        return False
    at = text.find(arguments)
    while at != -1:
        around = len(name) + _NEAR
        if name in text[max(0, at - around) : at] or name in text[at + len(arguments) : at + len(arguments) + around]:
            return True
        at = text.find(arguments, at + 1)
    return False


# From the first of several backslashes on: from each of them it would take the square of their number.
_ESCAPED_SPACE = re.compile(r"(?<!\\)\\+[nrt]")
_ESCAPED = re.compile(r"(?<!\\)\\+u([0-9a-fA-F]{4})")
_SAME = re.compile(r"[\s\\\"'`]+")


def _plain(text: str) -> str:
    """A text without what differs between a call and the same call in a quotation."""
    text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), _ESCAPED_SPACE.sub("", text))
    return _SAME.sub("", text)


def _written(body: str, tools: Mapping[str, OfferedTool]) -> Iterator[_Written]:
    """The calls in a text. Raises `_NoCallError` where there is anything else in it, or none."""
    if body.startswith("{") or (body.startswith("[") and not body.startswith("[TOOL_CALLS]")):
        end = 0
        for value, source, after in _values(body, 0):
            yield from _calls(value, source, is_marked=False)
            end = after
        if end < len(body):
            raise _NoCallError
        return
    at = 0
    while at < len(body):
        opened = _OPENS.match(body, at)
        if opened is None:
            raise _NoCallError
        kind = opened.lastgroup or ""
        start, at = at, _skipped(_SPACE, body, opened.end())
        found: list[tuple[Any, str]] = []
        if body.startswith("<function=", at) and kind != "fence":
            function, at = _function(body, at, tools)
            found.append((function, ""))
        elif kind == "mistral" and (named := _NAMED.match(body, at)) is not None:
            arguments, at = _DECODER.raw_decode(body, named.end())
            found.append(({"name": named[1], "arguments": arguments}, ""))
        else:
            for value, source, end in _values(body, at):
                found.append((value, source))
                at = end
        at = _skipped(_SPACE, body, at)
        closed = _CLOSES[kind].match(body, at)
        if closed is None and kind in _MUST_CLOSE:
            raise _NoCallError
        at = at if closed is None else closed.end()
        for value, source in found:
            yield from _calls(value, source or body[start:at], is_marked=kind != "fence")
        at = _skipped(_SPACE, body, at)


_DECODER = json.JSONDecoder()


def _values(body: str, at: int) -> Iterator[tuple[Any, str, int]]:
    """JSON that is written one after another: each value, its text, and where what follows begins. There is one at least."""
    while True:
        if body[at : at + 1] not in ("{", "["):
            raise _NoCallError
        value, end = _DECODER.raw_decode(body, at)
        source = body[at:end]
        at = _skipped(_BETWEEN, body, end)
        yield value, source, at
        if not body.startswith("{", at):
            return


def _calls(value: Any, source: str, *, is_marked: bool) -> Iterator[_Written]:
    """The calls that a JSON value is. Raises `_NoCallError`."""
    if isinstance(value, dict) and set(value) == {"tool_calls"}:
        value = value["tool_calls"]
    entries = value if isinstance(value, list) else [value]
    if not entries or len(entries) > MOST_CALLS:
        raise _NoCallError
    for entry in entries:
        if not isinstance(entry, dict) or not _KEYS.issuperset(entry):
            raise _NoCallError
        call = entry.get("function", entry)
        if isinstance(call, str) and "name" not in entry:
            call = {**entry, "name": call}
        if not isinstance(call, dict) or not isinstance(name := call.get("name"), str) or not name:
            raise _NoCallError
        given = call.get("arguments", call.get("parameters"))
        if given is None and is_marked:
            given = {}
        if isinstance(given, dict):
            given = json.dumps(given, ensure_ascii=False)
        if not isinstance(given, str):
            raise _NoCallError
        yield _Written(name, given, source, is_marked)


def _function(body: str, at: int, tools: Mapping[str, OfferedTool]) -> tuple[dict[str, Any], int]:
    """A call between tags that name the function, and where what follows begins. Raises `_NoCallError`."""
    opened = _FUNCTION.match(body, at)
    if opened is None:
        raise _NoCallError
    name, at = opened[1], opened.end()
    arguments: dict[str, Any] = {}
    if body.startswith("{", at):
        arguments, at = _DECODER.raw_decode(body, at)
    else:
        tool = tools.get(name.casefold())
        while (parameter := _PARAMETER.match(body, at)) is not None and len(arguments) < _MOST_PARAMETERS:
            end = body.find(_PARAMETER_ENDS, parameter.end())
            if end == -1 or parameter[1] in arguments:
                raise _NoCallError
            arguments[parameter[1]] = _typed(body[parameter.end() : end].removesuffix("\n"), parameter[1], tool)
            at = end + len(_PARAMETER_ENDS)
    closed = _FUNCTION_ENDS.match(body, at)
    if closed is None:
        raise _NoCallError
    return {"name": name, "arguments": arguments}, closed.end()


def _typed(text: str, name: str, tool: OfferedTool | None) -> Any:
    """The value of a parameter that is written as it is: text where its schema says so, else JSON where it is some."""
    properties = {} if tool is None else tool.schema.get("properties", {})
    schema = properties.get(name) if isinstance(properties, Mapping) else None
    if isinstance(schema, Mapping) and schema.get("type") == "string":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _skipped(pattern: re.Pattern[str], body: str, at: int) -> int:
    found = pattern.match(body, at)
    return at if found is None else found.end()
