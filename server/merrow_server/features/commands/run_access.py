"""What runs may do: ``merrow/setKey`` hands over an API key for one origin, ``merrow/trust`` tells that the workspace is trusted,
``merrow/answering`` asks which endpoint and models would answer, ``merrow.doctor`` whether all that runs need is there.
``merrow.models`` lists what is served where, and ``merrow.useModel`` ``{url, model?}`` writes one into the user's settings.

A key is kept in memory, goes to its origin alone, and is neither logged nor given back; ``{origin, key: null}`` forgets it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from merrow_server.features.code_action import as_mapping
from merrow_server.features.commands.run_commands import check_trust
from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.work.following import refused
from merrow_server.lsp.work.workflow_texts import text_of

if TYPE_CHECKING:
    from merrow_runtime.models.user_settings import UserSettings

SET_KEY, TRUST, ANSWERING, DOCTOR = "merrow/setKey", "merrow/trust", "merrow/answering", "merrow.doctor"
MODELS, USE_MODEL = "merrow.models", "merrow.useModel"


def register(server: MerrowServer) -> None:
    server.feature(SET_KEY)(set_key)
    server.feature(TRUST)(trust)
    server.feature(ANSWERING)(answering)
    server.command(DOCTOR)(doctor)
    server.command(MODELS)(models)
    server.command(USE_MODEL)(use_model)


async def answering(server: MerrowServer, params: Any) -> dict[str, Any]:
    """Who would answer a run of an open workflow, or of any."""
    given = params if isinstance(params, dict) else {}
    uri, number, model = given.get("uri"), given.get("diagram", 1), given.get("model")
    if not isinstance(uri, str | None) or not isinstance(number, int) or not isinstance(model, str | None):
        raise InvalidParameters(f"{ANSWERING} takes `uri`, a text, `diagram`, a whole number, and `model`, a text.")
    diagrams = [] if uri is None else server.diagrams(uri)
    text = text_of(diagrams[number - 1], number) if 1 <= number <= len(diagrams) else None
    return await server.jobs.ask(lambda session: session.answering(text, model or None))


async def doctor(server: MerrowServer, __: list[Any]) -> dict[str, Any]:
    """What ``merrow doctor --format json`` prints on a terminal, of the open workflows: a person asks."""
    from merrow_server.health import health

    files = sorted({str(document.path) for document in server.documents.values() if document.path is not None})
    return await asyncio.to_thread(health, discovers=True, files=files, access=_granted(server))


async def models(server: MerrowServer, _: list[Any]) -> dict[str, Any]:
    """What ``merrow models --format json`` prints. Servers on this machine are looked for each time: a person asks."""
    from merrow_runtime.errors import UsageFailure
    from merrow_runtime.models.selection import ModelOptions, decide
    from merrow_server.choosing_models import served

    check_trust(server)
    try:
        choice = decide(ModelOptions(), *_granted(server))
        places = await asyncio.to_thread(served, discovers=True, choice=choice, again=True)
    except UsageFailure as problem:
        raise refused(str(problem)) from None
    return {"endpoints": [place.to_json() for place in places]}


async def use_model(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Write an endpoint and one of its models into the user's settings; what ``merrow models use --format json`` prints."""
    from merrow_runtime.errors import UsageFailure
    from merrow_server.choosing_models import use
    from merrow_server.errors import InputError

    given = as_mapping(arguments[0]) if arguments else {}
    url, model = (given or {}).get("url"), (given or {}).get("model")
    if not isinstance(url, str) or not isinstance(model, str | None):
        raise InvalidParameters(f"{USE_MODEL} needs `url`, a base URL, and `model`, a text, if it serves several.")
    check_trust(server)
    try:
        used = await asyncio.to_thread(use, url, model, _granted(server))
    except (InputError, UsageFailure) as problem:
        raise refused(str(problem)) from None
    return used.to_json()


def _granted(server: MerrowServer) -> tuple[Mapping[str, str], UserSettings]:
    """The environment and the user's settings, with the editor's keys in them."""
    from merrow_runtime.models.user_settings import read_user_settings

    return server.jobs.keys.grant(os.environ, read_user_settings())


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
