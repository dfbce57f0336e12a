"""Completion of tools: their names, and the constants of a Tool."""

from __future__ import annotations

import json
import re
from collections.abc import Container

from merrow_analysis.check import Analysis
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.graph.resolve import tool_name
from merrow_analysis.ide.completion.items import CompletionItems
from merrow_analysis.ide.cursor.yaml_place import yaml_place
from merrow_analysis.text import Position, Range
from merrow_analysis.tools.listed import PERSON, listed_tools
from merrow_analysis.tools.pinned_tools import PinnedTools
from merrow_analysis.tools.pins import shown

_NAME = re.compile(r"[\w./-]*")
_LIST_REST = re.compile(r"[\w./, -]*")
_KEY = re.compile(r"([\w-]+)[ \t]*:(?=\s|$)")
_IN_LABEL = re.compile(r"\btool[ \t]*:[ \t]*[\"']?([\w./-]+)")
_LONGEST = 100


def pinned_tools(analysis: Analysis) -> PinnedTools | None:
    """The pins that the workflow goes by; None where no file can be read."""
    outside = None if analysis.typed is None else analysis.typed.core.language.outside
    return None if outside is None else outside.tools


def tool_items(items: CompletionItems, length: int, taken: Container[str] = ()) -> None:
    """Add the names of all pinned tools, those that the workflow may use first; ``length`` of one is before the cursor."""
    tools = pinned_tools(items.analysis)
    column = items.position.column
    end = _NAME.match(items.line, column).end() if length else column  # type: ignore[union-attr]  # matches anything
    place = Range(Position(items.position.line, column - length), Position(items.position.line, end))
    for tool in () if tools is None else tools.pins.all():
        if tool.full_name not in taken and tools is not None and tools.find(tool.full_name).problem is None:
            words = " ".join(shown(tool.description).split())
            detail = words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}\u2026"
            rank = 0 if tool.full_name in items.analysis.settings.tools else 1
            items.add(tool.full_name, "value", place, rank=rank, detail=detail, subject=("tool", tool.full_name))


def agent_tool_items(items: CompletionItems, text: str) -> None:
    """Add the tools that an agent may be offered beside those of its list; ``text`` is the beginning of that."""
    own = text.rpartition(",")[2].lstrip()
    rest = _LIST_REST.match(items.line, items.position.column)
    following = "" if rest is None else rest[0]
    before = text[: len(text) - len(own)]
    taken = {name for name, _ in listed_tools(f"{before},{following.partition(',')[2]}")}
    tool_items(items, len(own), taken)
    if PERSON not in taken:
        length = len(own) + (len(_NAME.match(following)[0]) if own else 0)  # type: ignore[index]  # matches anything
        start = items.position.column - len(own)
        place = Range(Position(items.position.line, start), Position(items.position.line, start + length))
        items.add(PERSON, "value", place, rank=1, detail="Lets the agent ask a person.")


def tool_in_label(label: str) -> str:
    """The tool that a label says while it is typed; empty where it says none."""
    found = _IN_LABEL.search(label)
    return "" if found is None else found[1]


def constant_items(items: CompletionItems, text: str, tool: str, node: TypedNode | None) -> None:
    """Add what may stand at the end of ``text``, the beginning of the constants for a tool."""
    tools = pinned_tools(items.analysis)
    name = tool or (None if node is None else tool_name(node.resolution))
    signature = None if tools is None or not name else tools.find(name).signature
    if signature is None:
        return
    here = yaml_place(f"{{{text}", len(text) + 1)
    length = len(text) + 1 - here.start
    place = items.range(length)
    if not here.is_key:
        parameter = signature.parameter(here.path[-1]) if len(here.path) == 1 else None
        if parameter is not None:
            words = ("true", "false") if parameter.type == "Bool" else parameter.words
            for word in words:
                items.add(word, "value", place)
            if isinstance(parameter.default, (int, float)) and not isinstance(parameter.default, bool):
                items.add(json.dumps(parameter.default), "value", place, rank=1, detail="the default")
        return
    if here.path:
        return
    given = set(_KEY.findall(text))
    followed = items.line[place.end.column :].lstrip().startswith(":")
    for parameter in signature.parameters:
        if parameter.name in given or (node is not None and node.sources(parameter.name)):
            continue
        items.add(
            parameter.name,
            "key",
            place,
            rank=0 if parameter.required else 1,
            text=parameter.name if followed else f"{parameter.name}: ",
            detail=parameter.type,
            subject=("parameter", name or "", parameter.name),
        )
