"""The command that pins tools which a workflow names and no pin has, or which are not as they were pinned."""

from __future__ import annotations

from lsprotocol import types

from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.graph.resolve import tool_name
from merrow_analysis.tools.pins import may_name
from merrow_server.lsp.documents import OpenDiagram

PULL = "merrow.pullTools"
_MOST = 100
"""Tools that are pinned at once."""


def pin_tools(diagram: OpenDiagram, finding: Diagnostic) -> types.Command | None:
    """Pins all tools of one server that the workflow names and that have no good pin; None where the finding names no tool."""
    line = diagram.lines[finding.range.start.line]
    named = line[finding.range.start.column : finding.range.end.column].strip("\"' ")
    server, dot, tool = named.partition(".")
    if not dot or not may_name(server, tool):
        return None
    wanted = [name.partition(".")[2] for name in _unpinned(diagram) if name.startswith(f"{server}.")]
    title = f"Pin the tools of {server}"
    asked = {"uri": diagram.document.uri, "server": server, "tools": wanted[:_MOST] or [tool]}
    return types.Command(title, PULL, arguments=[asked])


def _unpinned(diagram: OpenDiagram) -> list[str]:
    """The tools that the workflow names and can't use as they are pinned, or are not; in the order of the text."""
    analysis = diagram.analysis
    graph = analysis.typed
    outside = None if graph is None else graph.core.language.outside
    if graph is None or outside is None:
        return []
    used = [tool_name(node.resolution) for node in graph.nodes if node.spec is not None and node.spec.is_tool]
    names = dict.fromkeys(name for name in (*used, *analysis.settings.tools) if name is not None)
    found = (outside.tools.find(name) for name in names)
    return [tool.name for tool in found if tool.problem is not None and may_name(*tool.name.partition(".")[::2])]
