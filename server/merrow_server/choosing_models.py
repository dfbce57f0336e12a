"""Which models are served where, and the choice of one, which is written into the user's own settings."""

from __future__ import annotations

import asyncio
import os
import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from merrow_runtime.models.connections import default_concurrency
from merrow_runtime.models.discovery import Found, discover, is_name, may_look, places_of
from merrow_runtime.models.origins import OPENAI_ORIGIN, is_loopback, origin_of
from merrow_runtime.models.reach import reach, unlisted
from merrow_runtime.models.reach import served as served_models
from merrow_runtime.models.selection import ModelOptions, decide
from merrow_runtime.models.settings_text import with_endpoint
from merrow_runtime.models.user_settings import read_user_settings, settings_path
from merrow_server.errors import InputError
from merrow_server.files import write_bytes

if TYPE_CHECKING:
    from merrow_runtime.running.forecast_figures import Forecast


@dataclass(frozen=True, slots=True)
class Place:
    """An endpoint and what it serves. ``ok`` is None where it answers but can't tell its models; ``source`` says what named it
    (``found``: nothing), and ``command`` what to type to use it.
    """

    base_url: str
    source: str
    used: bool
    ok: bool | None
    sentence: str
    models: tuple[str, ...]
    command: str

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def served(*, discovers: bool) -> list[Place]:
    """The endpoint that is used, if any, then the servers that are found on this machine. For threads without an event loop."""
    choice = decide(ModelOptions(), os.environ, read_user_settings())
    places = []
    if choice.connection is not None:
        url = choice.connection.base_url
        reached = asyncio.run(reach(choice.connection))
        places.append(Place(url, choice.source, True, reached.ok, reached.sentence, reached.models, command_for(url)))
    origins = {origin_of(place.base_url).replace("//localhost", "//127.0.0.1") for place in places}
    for found in discover() if discovers else ():
        if origin_of(found.base_url) not in origins:
            says = "It answers and has no model." if not found.models else "It answers."
            places.append(Place(found.base_url, "found", False, True, says, found.models, offer(found)))
    return places


def offers() -> list[str]:
    """For each model server that is found on this machine, a sentence with the command that makes it the one to use."""
    if not may_look():
        return []
    said = []
    for found in discover():
        names = f" with {', '.join(found.models[:3])}{', ...' if len(found.models) > 3 else ''}" if found.models else ""
        said.append(f"A model server answers at {found.base_url}{names}. To use it: {offer(found)}")
    return said


def offer(found: Found) -> str:
    """The command that makes a found server the one to use."""
    return command_for(found.base_url, found.models[0] if found.models else None)


def command_for(base_url: str, model: str | None = None) -> str:
    """What to type, for a shell."""
    return shlex.join(["merrow", "models", "use", base_url, *([model] if model else [])])


@dataclass(frozen=True, slots=True)
class Used:
    """What was written into the user's settings at ``path``; ``note`` is for the user to read."""

    path: Path
    base_url: str
    model: str | None
    concurrency: int
    free: bool
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {**asdict(self), "path": str(self.path)}


def use(base_url: str, model: str | None) -> Used:
    """Write an endpoint and a model of it into the user's settings. For threads without an event loop.

    Raises `InputError` or `UsageFailure` where it has no such model, where it isn't clear which, and where the settings can't be
    changed; then they stay as they are.
    """
    settings = read_user_settings()
    choice = decide(ModelOptions(base_url=base_url), os.environ, settings)
    if choice.connection is None:
        raise InputError("The embedded offline model is used where no endpoint is set; there is nothing to choose.")
    reached = asyncio.run(reach(choice.connection))
    models = tuple(name for name in reached.models if is_name(name))
    note = "" if reached.ok else reached.sentence
    if model is not None and models and model not in models:
        raise InputError(f"{base_url}: {unlisted(model, models)}")
    if model is None:
        if len(models) != 1:
            several = f"It has several models; name one: {', '.join(models[:20])}." if models else reached.sentence
            raise InputError(f"{base_url}: {several} Write: {command_for(base_url)} MODEL")
        model = models[0]
    url = base_url.strip()
    concurrency = places_of(url) or default_concurrency(choice.origin)
    free = is_loopback(choice.origin)
    path = settings_path()
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    text = with_endpoint(before, url, model, concurrency, free=free)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, text.encode("utf-8"))
    return Used(path, url, model, concurrency, free, note)


def unserved(base_url: str | None, forecast: Forecast) -> list[str]:
    """What is wrong with the models that a run would ask: those that the endpoint doesn't list, where it lists any. No model is
    called; OpenAI and Azure, which have many, aren't asked. Raises `UsageFailure`.
    """
    choice = decide(ModelOptions(base_url=base_url), os.environ, read_user_settings())
    if choice.connection is None or choice.connection.azure is not None or choice.origin in (OPENAI_ORIGIN, ""):
        return []
    if choice.origin != forecast.endpoint:
        return []
    asked = [node.model for node in forecast.nodes if node.model and node.questions]
    asked += [question.model for node in forecast.nodes for question in node.questions if question.model]
    models = served_models(choice.connection)
    return [
        f"{choice.origin}: {unlisted(model, models)}"
        for model in dict.fromkeys(asked)
        if models and model not in models
    ]
