"""The command ``merrow.compile``: a workflow as a Python program.

It takes one object, ``{uri, diagram?}``, and answers ``{text, name, nodes}``: the program; a name for its file; and for each node
its ``id``, its ``lines`` in the program (from 0), and its ``range`` in the document.
"""

from __future__ import annotations

import asyncio
from pathlib import PurePath
from typing import Any

from merrow_runtime.errors import RunFailure
from merrow_server.features.code_action import as_mapping
from merrow_server.features.commands.execute_command import numbered, the_document
from merrow_server.features.commands.mutation_commands import refused
from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer

COMPILE_COMMAND = "merrow.compile"


def register(server: MerrowServer) -> None:
    server.command(COMPILE_COMMAND)(compile_)


async def compile_(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Compile a workflow as it is in the editor. Raises `FeatureError` where it can't be compiled."""
    from merrow_server.lsp.work.workflow_texts import text_of

    asked = as_mapping(arguments[0]) if arguments else None
    if asked is None:
        raise InvalidParameters("The argument must be an object with the `uri` of a document.")
    document = the_document(server, [asked.get("uri")])
    number = asked.get("diagram") or 1
    diagram = numbered(document, number)
    graph = diagram.analysis.typed
    ranges = {} if graph is None else {node.id: diagram.to_lsp(node.flow.range) for node in graph.nodes}
    text = text_of(diagram, number)

    def work() -> tuple[str, dict[str, list[int]]]:
        from merrow_server.compiling import compiled_text

        return compiled_text(text)

    try:
        program, lines = await asyncio.to_thread(work)
    except RunFailure as problem:
        raise refused(str(problem)) from None
    stem = PurePath(text.file.name if text.file is not None else "workflow").stem
    nodes = [
        {
            "id": name,
            "lines": lines.get(name, []),
            "range": {
                "start": {"line": span.start.line, "character": span.start.character},
                "end": {"line": span.end.line, "character": span.end.character},
            },
        }
        for name, span in ranges.items()
    ]
    return {"text": program, "name": f"{stem}.py", "nodes": nodes}
