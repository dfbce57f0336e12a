"""What there is to say about a tool: what its server says of it, what it takes and gives, and its pin."""

from __future__ import annotations

import json

from merrow_analysis.check import Analysis
from merrow_analysis.ide.texts.markup import CodeSpan, Inline, Markup, shortened
from merrow_analysis.tools.parameters import Parameter, ToolSignature
from merrow_analysis.tools.permissions import Permissions, ServerTrust
from merrow_analysis.tools.pinned_tools import KnownTool
from merrow_analysis.tools.pins import LOCAL, PINS_FILE, may_name, shown

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
        text = Markup().say("Tool ", CodeSpan(tool.name), ": it can't be used.").block(shown(tool.problem or ""))
        return _server(text, tool.name, permissions) if may_name(*_parts(tool.name)) else text
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
    _server(text, tool.name, permissions)
    if permissions.may_use(tool.name):
        asks = "Your settings allow calling it without asking."
    elif _parts(tool.name)[0] == LOCAL:
        asks = "A run calls it once you have agreed to its file."
    else:
        asks = "A run asks you before it calls it for the first time here."
    again = "It may be called again." if permissions.may_repeat(tool.name) else "It may not be repeated."
    return text.say(f"{asks} {again}")


def _server(text: Markup, name: str, permissions: Permissions) -> Markup:
    """Add whether the server of a tool may be started, or the file of a local one; nothing where that isn't known."""
    trust, (server, _) = permissions.server_trust(name), _parts(name)
    if trust is None:
        return text
    lines: dict[ServerTrust, Inline]
    if server == LOCAL:
        lines = {
            "yours": ("You have agreed to its file as it is.",),
            "trusted": ("You have agreed to its file as it is.",),
            "untrusted": ("Its file is not run before you agree to it: ", CodeSpan(f"merrow tools trust {name}"), "."),
            "unusable": ("Its file can't be used; ", CodeSpan("merrow tools list"), " says why."),
            "unknown": ("Beside the workflow there is no such file in ", CodeSpan("tools"), "."),
        }
    else:
        agree, add = CodeSpan(f"merrow tools trust {server}"), CodeSpan(f"merrow tools add {server} -- COMMAND")
        lines = {
            "yours": ("Its server is in your own settings.",),
            "trusted": ("The workspace proposes its server, and you have agreed to it as it is.",),
            "untrusted": ("The workspace proposes its server, which is not started before you agree: ", agree, "."),
            "unusable": ("Its server can't be used; ", CodeSpan("merrow tools list"), " says why."),
            "unknown": ("Its server isn't known here; add it: ", add, "."),
        }
    return text.say(*lines[trust])


def _parts(name: str) -> tuple[str, str]:
    server, _, own = name.partition(".")
    return server, own


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
