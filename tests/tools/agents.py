"""A workspace whose agent asks a scripted endpoint."""

from __future__ import annotations

import json
from typing import Any

from tests.runtime.openai_server import Reply
from tests.tools.mails import CLASS, Workspace

AGENT = (
    """---
workflow:
  tools: [mail.send, mail.count, mail.echo]
---
flowchart TD
    PROBLEM([Task]):::Interface
    RETURN([Result]):::Interface
    A["ToolAgent<br/>(prompt: Do it., tools: 'TOOLS'MORE)"]
    PROBLEM -->|input| A --> RETURN
"""
    + CLASS
)


def write(space: Workspace, tools: str = "mail.send, mail.count", more: str = "", name: str = "flow.mmd") -> str:
    """Write a workflow whose agent is offered these tools; its path."""
    return str(space.write(AGENT.replace("TOOLS", tools).replace("MORE", f", {more}" if more else ""), name))


def call(name: str, id_: str | None = "c1", **arguments: Any) -> dict[str, Any]:
    """A call as endpoints write it."""
    shown = {"type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return shown if id_ is None else {"id": id_, **shown}


def calls(*called: dict[str, Any], text: str | None = None, finish: str = "tool_calls", delay: float = 0.0) -> Reply:
    """An answer that asks for calls."""
    return Reply(text, finish, message={"tool_calls": list(called)}, delay=delay)


def mail(body: str, to: str = "ann") -> dict[str, Any]:
    return call("mail__send", to=to, body=body)
