"""What a person sees before they agree to something that tools do: plain text in which nothing hides, in sections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from merrow_analysis.tools.pins import shown
from merrow_runtime.errors import InputError
from merrow_runtime.outside.consent import ConsentFailure
from merrow_runtime.outside.known_servers import NotTrustedFailure
from merrow_runtime.outside.user_servers import NotAgreedFailure
from merrow_runtime.program.tool_parameters import UNPINNED, pin_text
from merrow_server.tools.pinning import Pulled
from merrow_server.tools.servers import pins_path, read_pins_of

Section = dict[str, str]
_LONGEST = 1_000
"""Characters of what a server says of a tool."""


def question_of(failure: ConsentFailure) -> dict[str, Any]:
    """What is asked, ``{title, question, button, shown, from}``; ``shown`` are sections ``{title, text}``, and all of them are
    what the user agrees to.
    """
    return {
        "title": failure.situation,
        "question": failure.question,
        "button": failure.button,
        "shown": _sections(failure),
        "from": failure.workspace,
    }


def question_about(server: str, pulled: Pulled) -> dict[str, Any]:
    """The same for pins that would change, or that have characters which can't be seen."""
    changed = [change for change in pulled.changed if change.hidden or not change.is_new]
    sections = []
    for change in changed:
        hidden = [f"can't be seen: {where}" for where in change.hidden]
        sections.append({"title": change.sentence, "text": "\n".join([*hidden, change.difference])})
    return {
        "title": f"What {server} says of its tools is not what is pinned, or has characters that can't be seen.",
        "question": "Models read it as it is. Pin it?",
        "button": "Pin",
        "shown": sections,
        "from": str(pulled.path),
    }


def _sections(failure: ConsentFailure) -> list[Section]:
    match failure:
        case NotTrustedFailure(known=known):
            notes = [{"title": "Note", "text": shown(note)} for note in known.notes]
            title = known.name if known.tool is None else shown(str(known.source))
            return [{"title": title, "text": known.definition_text}, *notes]
        case NotAgreedFailure():
            return [_tool(failure.folder, tool, pin) for tool, pin in failure.agreements.values()]
    return []


def _tool(folder: Path, tool: str, pin: str) -> Section:
    """A tool as it is pinned."""
    if pin == UNPINNED:
        return {"title": tool, "text": "A tool of an environment, which is not pinned."}
    about = ""
    try:
        known = read_pins_of(pins_path(folder)).find(tool)
    except InputError:
        known = None
    if known is not None and pin_text(known) == pin:
        said = shown(known.description)
        about = said if len(said) <= _LONGEST else f"{said[:_LONGEST]}... ({len(said) - _LONGEST:,} more characters)"
    return {"title": tool, "text": "\n".join(filter(None, [about, f"Pinned as {pin[:12]}."]))}
