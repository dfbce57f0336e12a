"""Whether an endpoint is there: one cheap question that costs nothing, for ``merrow doctor``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from merrow_runtime.errors import EndpointFailure, UsageFailure
from merrow_runtime.models.connections import EndpointConnection, acquire, keyless_headers, release, sendable, timeout
from merrow_runtime.models.discovery import listed, models_at
from merrow_runtime.models.failures import Failures, ServerError, failures_of
from merrow_runtime.models.limits import TooLargeError
from merrow_runtime.models.origins import is_loopback, origin_of

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_SHOWN = 5
_MOST_NAMED = 20
_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Reached:
    """What came of it: ``ok`` is None where the endpoint answers but can't tell its models, and a sentence for people."""

    ok: bool | None
    sentence: str
    models: tuple[str, ...] = ()


async def reach(connection: EndpointConnection, seconds: float = 10.0) -> Reached:
    """Ask an endpoint for its models (``GET /models``). Never raises `EndpointFailure`."""
    failures = failures_of(connection)
    try:
        connection = sendable(connection)
        client = await acquire(connection)
    except (EndpointFailure, UsageFailure) as failure:
        return Reached(False, str(failure))
    try:
        async with asyncio.timeout(seconds):
            return await _ask(client, connection, seconds, failures)
    except TimeoutError:
        return Reached(False, str(failures.too_slow(seconds)))
    except EndpointFailure as failure:
        return Reached(False, str(failure))
    finally:
        await release(connection)


def served(connection: EndpointConnection) -> tuple[str, ...]:
    """The names of the models that an endpoint lists; none where it doesn't. Asked once in a process, as far as it
    answers: at most 3 seconds, also within an event loop.
    """
    if connection not in _served and connection.base_url.startswith("http:") and is_loopback(connection.base_url):
        models = models_at(connection.base_url, connection.api_key)
        if models is None:
            return ()
        _served[connection] = models
    if connection not in _served:
        with ThreadPoolExecutor(1) as thread:
            reached = thread.submit(lambda: asyncio.run(reach(connection, _SECONDS))).result()
        if reached.ok is False:  # It may be up the next time.
            return ()
        _served[connection] = reached.models
    return _served[connection]


_served: dict[EndpointConnection, tuple[str, ...]] = {}


async def _ask(client: AsyncOpenAI, connection: EndpointConnection, seconds: float, failures: Failures) -> Reached:
    import aiohttp
    import httpx2
    import openai

    origin = origin_of(connection.base_url)
    listing: Any = client.models.with_raw_response.list
    try:
        response = await listing(timeout=timeout(seconds), extra_headers=keyless_headers(connection))
        models = listed(_parsed(response.http_response.content))
    except openai.APIStatusError as problem:
        if problem.status_code in (404, 405, 501):
            return Reached(None, f"The endpoint {origin} answers, but doesn't list its models.")
        error = ServerError.told_by(problem.response.content)
        raise failures.of_status(problem.status_code, error, problem.response.headers, "") from None
    except TooLargeError as problem:
        raise failures.too_large(problem.limit) from None
    except (openai.APIConnectionError, httpx2.HTTPError, aiohttp.ClientError, OSError, ValueError) as problem:
        raise failures.of_connection(problem, seconds) from None
    if models is None:
        return Reached(None, f"The endpoint {origin} answers, but not with a list of models; check the base URL.")
    named = ", ".join(failures.said(model) for model in models[:_SHOWN])
    more = f" and {len(models) - _SHOWN} more" if len(models) > _SHOWN else ""
    count = f"{len(models)} model{'' if len(models) == 1 else 's'}"
    return Reached(True, f"The endpoint {origin} answers and has {count}{': ' if named else ''}{named}{more}.", models)


def unlisted(model: str, models: Sequence[str]) -> str:
    """What is wrong with a model that an endpoint doesn't list, and what to use instead."""
    named = ", ".join(f"`{name}`" for name in models[:_MOST_NAMED])
    more = f" (and {len(models) - _MOST_NAMED} more)" if len(models) > _MOST_NAMED else ""
    return f"It has no model `{model}`; use one of: {named}{more}."


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
