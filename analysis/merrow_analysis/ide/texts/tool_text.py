"""What there is to say about a tool: what its server says of it, what it takes and gives, and its pin."""

from __future__ import annotations

import json

from merrow_analysis.check import Analysis
from merrow_analysis.ide.texts.markup import CodeSpan, Inline, Markup, shortened
from merrow_analysis.tools.parameters import Parameter, ToolSignature
from merrow_analysis.tools.permissions import Permissions
from merrow_analysis.tools.pinned_tools import KnownTool
from merrow_analysis.tools.pins import PINS_FILE, shown

_MOST_PARAMETERS = 20
_MOST_WORDS = 8
_LONGEST = 160
"""Characters that are shown of what a server says of a parameter."""


def tool_text(analysis: Analysis, name: str) -> Markup:
    """A tool that the workflow names; nothing where no file can be read."""
    outside = None if analysis.typed is None else analysis.typed.core.language.outside
    return Markup() if outside is None else known_tool_text(outside.tools.find(name), outside.permissions)


def known_tool_text(tool: KnownTool, permissions: Permissions) -> Markup:
    """A tool, or why it can't be used. What its server says is shown as its words, never as Markdown."""
    if tool.pin is None or tool.signature is None:
        return Markup().say("Tool ", CodeSpan(tool.name), ": it can't be used.").block(shown(tool.problem or ""))
    text = Markup().say("Tool ", CodeSpan(tool.name), ". Its server says of it:")
    said = [words for words in (tool.pin.title, tool.pin.description) if words.strip()]
    text.block(shortened(shown("\n".join(said))) if said else "(nothing)")
    lines = [_parameter(parameter) for parameter in tool.signature.parameters[:_MOST_PARAMETERS]]
    left = len(tool.signature.parameters) - _MOST_PARAMETERS
    if lines:
        text.say("It takes:").items([*lines, *([(f"{left} more",)] if left > 0 else [])])
    text.say("It gives ", *_outputs(tool.signature), ".")
    hints = ", ".join(f"{key}: {json.dumps(value)}" for key, value in sorted(tool.pin.annotations.items()))
    if hints:
        text.say("Its server hints, which nobody checks: ", CodeSpan(shown(hints)), ".")
    text.say(f"Pinned in {PINS_FILE} as ", CodeSpan(tool.pin.sha256[:12]), ".")
    if permissions.may_use(tool.name):
        asks = "Your settings allow calling it without asking."
    else:
        asks = "A run asks you before it calls it for the first time here."
    again = "It may be called again." if permissions.may_repeat(tool.name) else "It may not be repeated."
    return text.say(f"{asks} {again}")


def _parameter(parameter: Parameter) -> Inline:
    type_ = " or ".join(parameter.words[:_MOST_WORDS]) if parameter.words else parameter.type
    type_ += " or ..." if len(parameter.words) > _MOST_WORDS else ""
    pieces: list[str] = [CodeSpan(f"{parameter.name}{'*' if parameter.required else ''}: {shown(type_)}")]
    if parameter.whole:
        pieces.append(", a whole number")
    if parameter.default is not None:
        pieces += [", otherwise ", CodeSpan(shown(json.dumps(parameter.default, ensure_ascii=False)))]
    if parameter.description.strip():
        words = " ".join(shown(parameter.description).split())
        pieces += [": ", CodeSpan(words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}\u2026")]
    return tuple(pieces)


def _outputs(signature: ToolSignature) -> Inline:
    pieces: list[str] = []
    for port in signature.outputs:
        pieces += [", " if pieces else "", CodeSpan(f"{port.name}: {port.type}")]
    return tuple(pieces)
