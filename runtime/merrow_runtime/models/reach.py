"""Whether an endpoint can be reached, found out without paying: by asking for its list of models."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from merrow_runtime.errors import EndpointFailure
from merrow_runtime.models.connections import Connection, acquire, release, request_options
from merrow_runtime.models.failures import Failures, ServerError
from merrow_runtime.models.origins import origin_of

_SECONDS = 8.0
_UNKNOWN = frozenset({404, 405, 501})
"""Some endpoints have no list of models; that they say so shows that they are there."""


@dataclass(frozen=True, slots=True)
class Reached:
    """Whether the endpoint answers, a sentence about it, and the models that it lists, if it does."""

    ok: bool
    sentence: str
    models: tuple[str, ...] = ()


async def reach(connection: Connection) -> Reached:
    """Ask an endpoint for its models. Never raises; ends after a few seconds."""
    import aiohttp
    import httpx2
    import openai

    origin = origin_of(connection.base_url)
    failures = Failures(origin, (connection.api_key,) if connection.api_key else ())
    client = await acquire(connection)
    try:
        async with asyncio.timeout(_SECONDS):
            options: Any = request_options(connection, _SECONDS)
            models = _models(await client.get("/models", cast_to=object, options=options))
        count = "1 model" if len(models) == 1 else f"{len(models)} models"
        return Reached(True, f"{origin} answers" + (f" and lists {count}." if models else "."), models)
    except TimeoutError:
        return Reached(False, str(failures.too_slow(_SECONDS)))
    except openai.APIStatusError as problem:
        if problem.status_code in _UNKNOWN:
            return Reached(True, f"{origin} answers; it has no list of models.")
        error = ServerError.read(problem.body)
        return Reached(False, str(failures.of_status(problem.status_code, error, problem.response.headers, "")))
    except (openai.APIConnectionError, httpx2.HTTPError, aiohttp.ClientError, OSError) as problem:
        return Reached(False, str(failures.of_connection(problem, _SECONDS)))
    except (openai.APIError, json.JSONDecodeError, UnicodeDecodeError, EndpointFailure):
        return Reached(False, f"{origin} answers with something else than the OpenAI protocol; check the base URL.")
    finally:
        await release(connection)


def _models(body: object) -> tuple[str, ...]:
    listed = body.get("data") if isinstance(body, dict) else None
    if not isinstance(listed, list):
        return ()
    return tuple(str(model["id"]) for model in listed if isinstance(model, dict) and "id" in model)
