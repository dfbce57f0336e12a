"""Whether an endpoint is there: one cheap question that costs nothing, for ``merrow doctor``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from merrow_runtime.errors import EndpointFailure, UsageFailure
from merrow_runtime.models.connections import Client, Connection, acquire, release, sendable
from merrow_runtime.models.failures import Failures, told_by
from merrow_runtime.models.limits import TooLargeError, UndecodableError, whole
from merrow_runtime.models.origins import origin_of

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Reached:
    """What came of it: ``ok`` is None where the endpoint answers but can't tell its models, and a sentence for people."""

    ok: bool | None
    sentence: str
    models: tuple[str, ...] = ()


async def reach(connection: Connection, seconds: float = 10.0) -> Reached:
    """Ask an endpoint for its models (``GET /models``). Never raises `EndpointFailure`."""
    origin = origin_of(connection.base_url)
    failures = Failures(origin, (connection.api_key,) if connection.api_key else ())
    try:
        connection = sendable(connection)
        client = await acquire(connection)
    except (EndpointFailure, UsageFailure) as failure:
        return Reached(False, str(failure))
    try:
        async with asyncio.timeout(seconds):
            return await _ask(client, seconds, origin, failures)
    except TimeoutError:
        return Reached(False, str(failures.too_slow(seconds)))
    except EndpointFailure as failure:
        return Reached(False, str(failure))
    finally:
        await release(connection)


async def _ask(client: Client, seconds: float, origin: str, failures: Failures) -> Reached:
    import aiohttp

    try:
        async with client.send("/models", seconds) as response:
            if response.status in (404, 405, 501):
                return Reached(None, f"The endpoint {origin} answers, but doesn't list its models.")
            if response.status // 100 != 2:
                raise failures.of_status(response.status, await told_by(response), response.headers, "")
            told = _parsed(await whole(response))
    except TooLargeError as problem:
        raise failures.too_large(problem.limit) from None
    except UndecodableError:
        raise failures.undecodable() from None
    except (aiohttp.ClientError, OSError, ValueError) as problem:
        raise failures.of_connection(problem, seconds, proxied=client.is_proxied) from None
    data = told.get("data") if isinstance(told, Mapping) else None
    if not isinstance(data, list):
        return Reached(None, f"The endpoint {origin} answers, but not with a list of models; check the base URL.")
    models = tuple(sorted(str(entry["id"]) for entry in data if isinstance(entry, Mapping) and "id" in entry))
    named = ", ".join(failures.said(model) for model in models[:_SHOWN])
    more = f" and {len(models) - _SHOWN} more" if len(models) > _SHOWN else ""
    count = f"{len(models)} model{'' if len(models) == 1 else 's'}"
    return Reached(True, f"The endpoint {origin} answers and has {count}{': ' if named else ''}{named}{more}.", models)


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
