"""``merrow/preview``: a document in the user's browser, for editors without a preview of their own.

The request is ``{uri, diagram?}``, an open document and the number of a diagram in it, from 1. The answer is ``{url}``: a page
that shows the drawing with its findings and the runs of the file, and follows each edit, saved or not. The client opens it. One
server on this machine has the pages of all documents, and ends with the language server; the address contains a token.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from merrow_server.errors import InputError
from merrow_server.features.commands.preview import drawn
from merrow_server.features.commands.run_journal import text_in, workflow_in_journal
from merrow_server.lsp.protocol import FeatureError, InvalidParameters
from merrow_server.lsp.server import MerrowServer
from merrow_server.viewing.in_editor import BrowserPages

PREVIEW = "merrow/preview"


def register(server: MerrowServer) -> None:
    pages = BrowserPages(server, drawn, partial(_in_journal, server))
    server.on_checked.append(pages.checked)

    async def preview(server: MerrowServer, params: Any) -> dict[str, str]:
        """The address of the page of a document."""
        return {"url": _address(server, pages, params)}

    server.feature(PREVIEW)(preview)


def _in_journal(server: MerrowServer, uri: str, diagram: int) -> str | None:
    if server.document(uri) is None:
        return None
    return workflow_in_journal(server, {"uri": uri, "diagram": diagram}, PREVIEW)


def _address(server: MerrowServer, pages: BrowserPages, params: Any) -> str:
    uri = text_in(params, "uri", PREVIEW)
    diagram = 1 if params.get("diagram") is None else params["diagram"]
    if not isinstance(diagram, int) or isinstance(diagram, bool) or diagram < 1:
        raise InvalidParameters(f"The diagram of {PREVIEW} must be a number from 1.")
    if server.document(uri) is None:
        raise InvalidParameters(f"{PREVIEW} shows a document that is open; {uri} is not.")
    try:
        return pages.address(uri, diagram)
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] not in ("starlette", "uvicorn"):
            raise
        from merrow_runtime.installing import how_to_install

        raise FeatureError(f"The page needs packages that are not installed; {how_to_install('up')}.") from None
    except InputError as problem:
        raise FeatureError(str(problem)) from None
