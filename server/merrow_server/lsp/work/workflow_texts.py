"""An open workflow as the thread of the runs takes it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from merrow_server.lsp.documents import OpenDiagram

if TYPE_CHECKING:
    from merrow_server.jobs.orders import EditorWorkflow


def text_of(diagram: OpenDiagram, number: int) -> EditorWorkflow:
    """The diagram as it is now, for the thread of the runs."""
    from merrow_server.jobs.orders import EditorFiles, EditorWorkflow
    from merrow_server.lsp.contexts import absolute_path

    document, context = diagram.document, diagram.document.context
    file = None if document.path is None else absolute_path(document.path)
    name = document.uri if file is None else str(file)
    provider = context.provider
    return EditorWorkflow(
        name if diagram.fence is None else f"{name}#{number}",
        diagram.text,
        context.path,
        file,
        None if provider is None else EditorFiles(provider, asyncio.get_running_loop()),
        context.config,
        diagram.fence,
        diagram.analysis,
    )
