"""A server by the package ``mcp`` that asks before it books: ``asker.py LOG [PORT]``, over standard streams or over HTTP.

Each booking is a line of the file LOG, and so is each time that it comes to a question (``?`` and its message).
"""

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

server = MCPServer("asker")
LOG = Path(sys.argv[1])


class Room(BaseModel):
    room: Literal["red", "blue"]


class Sure(BaseModel):
    sure: bool
    why: str = ""


def note(line: str) -> None:
    with LOG.open("a") as file:
        file.write(line + "\n")


def which() -> Elicit[Room]:
    note("? Which room?")
    return Elicit("Which room?", Room)


def sure(chosen: Annotated[Room, Resolve(which)]) -> Elicit[Sure]:
    note(f"? Take {chosen.room}?")
    return Elicit(f"Take {chosen.room}?", Sure)


@server.tool()
def book(day: str, chosen: Annotated[Room, Resolve(which)], agreed: Annotated[Sure, Resolve(sure)]) -> str:
    """Books a room."""
    if not agreed.sure:
        return "nothing"
    note(f"{day} {chosen.room}")
    if day == "die":
        os._exit(3)
    return f"{chosen.room} on {day}"


if __name__ == "__main__":
    if len(sys.argv) > 2:
        server.run("streamable-http", port=int(sys.argv[2]))
    else:
        server.run("stdio")
