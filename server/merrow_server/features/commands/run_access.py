"""What runs may do: ``merrow/setKey`` hands over an API key for one origin, ``merrow/trust`` tells that the workspace is trusted,
``merrow/answering`` asks which endpoint and models would answer, ``merrow.doctor`` whether all that runs need is there.

A key is kept in memory, goes to its origin alone, and is neither logged nor given back; ``{origin, key: null}`` forgets it.
"""

from __future__ import annotations

import asyncio
from typing import Any

from lsprotocol import types

from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.work.workflow_texts import text_of

SET_KEY, TRUST, ANSWERING, DOCTOR = "merrow/setKey", "merrow/trust", "merrow/answering", "merrow.doctor"


def register(server: MerrowServer) -> None:
    server.feature(SET_KEY)(set_key)
    server.feature(TRUST)(trust)
    server.feature(ANSWERING)(answering)
    server.command(DOCTOR)(doctor)


async def answering(server: MerrowServer, params: Any) -> dict[str, Any]:
    """Who would answer a run of an open workflow, or of any."""
    given = params if isinstance(params, dict) else {}
    uri, number, model = given.get("uri"), given.get("diagram", 1), given.get("model")
    if not isinstance(uri, str | None) or not isinstance(number, int) or not isinstance(model, str | None):
        raise InvalidParameters(f"{ANSWERING} takes `uri`, a text, `diagram`, a whole number, and `model`, a text.")
    diagrams = [] if uri is None else server.diagrams(uri)
    text = text_of(diagrams[number - 1], number) if 1 <= number <= len(diagrams) else None
    return await server.jobs.ask(lambda session: session.answering(text, model or None))


async def doctor(_: MerrowServer, __: list[Any]) -> dict[str, Any]:
    """What ``merrow doctor --format json`` prints."""
    from merrow_server.health import health

    return await asyncio.to_thread(health)


def set_key(server: MerrowServer, params: Any) -> dict[str, str]:
    """Keep a key for an origin; the origin as Merrow reads it."""
    from merrow_runtime.errors import UsageFailure

    given = params if isinstance(params, dict) else {}
    origin, key = given.get("origin"), given.get("key")
    if not isinstance(origin, str) or not isinstance(key, str | None):
        raise InvalidParameters(f"{SET_KEY} needs `origin`, an address, and `key`, a text or null.")
    try:
        return {"origin": server.jobs.keys.set(origin, None if key is None else key.strip())}
    except UsageFailure as problem:
        raise InvalidParameters(str(problem)) from None


def trust(server: MerrowServer, params: Any) -> None:
    """The user trusts the workspace from now on, or does not any more."""
    trusted = params.get("trusted") if isinstance(params, dict) else None
    if not isinstance(trusted, bool) or trusted == server.runs.trusted:
        return
    server.runs.trusted = trusted
    if not trusted:
        server.jobs.cancel_all()
    if server.supports.refresh_code_lenses and server.documents:
        server.protocol.send_request(types.WORKSPACE_CODE_LENS_REFRESH)
