"""A server of tools by the package ``mcp``, over standard streams or, with a port, over HTTP: ``honest.py [PORT]``."""

import sys
from typing import Annotated

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

server = MCPServer("honest")


class Price(BaseModel):
    price: float
    currency: str


class Name(BaseModel):
    name: str


@server.tool()
def price(article: str, count: int = 1) -> Price:
    """The price of an article."""
    if article == "none":
        raise ValueError("there is no such article")
    return Price(price=2.5 * count, currency="EUR")


@server.tool()
def echo(text: str) -> str:
    """The same text."""
    return text


def _asked() -> Elicit[Name]:
    return Elicit("What is your name?", Name)


@server.tool()
def greet(name: Annotated[Name, Resolve(_asked)]) -> str:
    """Greets you by your name, for which it asks."""
    return f"Hello, {name.name}"


@server.tool()
async def more(context: Context) -> str:
    """Has a new tool, and says so."""
    server.add_tool(lambda: "new", name="new", description="A new tool.")
    await context.notify_tools_changed()
    return "done"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run("stdio")
