"""Which models are served where, and the choice of one, which is written into the user's own settings."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from merrow_runtime.models.connections import default_concurrency
from merrow_runtime.models.discovery import PATIENT_SECONDS, DiscoveredServer, discover, may_look, places_of
from merrow_runtime.models.origins import OPENAI_ORIGIN, is_loopback, origin_of
from merrow_runtime.models.reach import reach, unlisted
from merrow_runtime.models.reach import served as served_models
from merrow_runtime.models.selection import EndpointChoice, ModelOptions, decide
from merrow_runtime.models.settings_text import with_endpoint
from merrow_runtime.models.user_settings import read_user_settings, settings_path
from merrow_server.errors import InputError, RunFailure
from merrow_server.files import write_bytes

if TYPE_CHECKING:
    from merrow_runtime.models.user_settings import UserSettings
    from merrow_runtime.running.forecast_figures import Forecast


@dataclass(frozen=True, slots=True)
class EndpointModels:
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


def served(*, discovers: bool, choice: EndpointChoice | None = None, again: bool = False) -> list[EndpointModels]:
    """The endpoint that is used (``choice``, by default the environment's or that of the user's settings), if any, then the
    servers that are found on this machine, patiently; ``again`` looks anew. For threads without an event loop. Raises
    `UsageFailure`.
    """
    choice = choice or decide(ModelOptions(), os.environ, read_user_settings())
    places = []
    if choice.connection is not None:
        url = choice.connection.base_url
        reached = asyncio.run(reach(choice.connection))
        places.append(
            EndpointModels(url, choice.source, True, reached.ok, reached.sentence, reached.models, command_for(url))
        )
    origins = {origin_of(place.base_url).replace("//localhost", "//127.0.0.1") for place in places}
    for server in discover(PATIENT_SECONDS, again=again) if discovers else ():
        if origin_of(server.base_url) not in origins:
            says = "It answers." if server.models else _without_models(server)
            places.append(EndpointModels(server.base_url, "found", False, True, says, server.models, offer(server)))
    return places


@dataclass(frozen=True, slots=True)
class ServerOffer:
    """A model server that is found on this machine, and a sentence with the command that makes it the one to use."""

    base_url: str
    models: tuple[str, ...]
    sentence: str


def offers() -> list[ServerOffer]:
    """The model servers that are found on this machine; none where nobody may look."""
    if not may_look():
        return []
    listed = []
    for server in discover():
        names = (
            f" with {', '.join(server.models[:3])}{', ...' if len(server.models) > 3 else ''}" if server.models else ""
        )
        loading = f" {_LOADING}" if server.is_loading else ""
        sentence = f"A model server answers at {server.base_url}{names}.{loading} To use it: {offer(server)}"
        listed.append(ServerOffer(server.base_url, server.models, sentence))
    return listed


_LOADING = "It is still loading its model; try again in a moment."


def _without_models(server: DiscoveredServer) -> str:
    return _LOADING if server.is_loading else "It answers and has no model."


def offer(server: DiscoveredServer) -> str:
    """The command that makes a found server the one to use."""
    return command_for(server.base_url, server.models[0] if server.models else None)


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


def use(base_url: str, model: str | None, access: tuple[Mapping[str, str], UserSettings] | None = None) -> Used:
    """Write an endpoint and a model of it into the user's settings. ``access`` is what takes the place of the environment and of
    these settings: those of an editor, with its keys. For threads without an event loop.

    Raises `InputError` or `UsageFailure` where it has no such model, where it isn't clear which, and where the settings can't be
    changed; then they stay as they are.
    """
    environment, settings = access or (os.environ, read_user_settings())
    choice = decide(ModelOptions(base_url=base_url), environment, settings)
    if choice.connection is None:
        raise InputError("The embedded offline model is used where no endpoint is set; there is nothing to choose.")
    reached = asyncio.run(reach(choice.connection))
    models = reached.models
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
    now = decide(ModelOptions(), environment, settings)
    if now.source == "environment" and now.origin != choice.origin:
        note = f"{note} OPENAI_BASE_URL names {now.origin} and takes precedence over your settings: unset it.".strip()
    path = settings_path()
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    text = with_endpoint(before, url, model, concurrency, free=free)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, text.encode("utf-8"))
    return Used(path, url, model, concurrency, free, note)


@dataclass(frozen=True, slots=True)
class Unserved:
    """Models that would be asked and that the endpoint doesn't list, in ``findings``: sentences; and all that it lists."""

    findings: tuple[str, ...] = ()
    served: tuple[str, ...] = ()


def unserved(choice: EndpointChoice, asked: Iterable[str]) -> Unserved:
    """Which of the models that are ``asked`` an endpoint does not list, where it lists any. No model is called; OpenAI and Azure,
    which have many, aren't asked.
    """
    connection = choice.connection
    if connection is None or connection.azure is not None or choice.origin == OPENAI_ORIGIN:
        return Unserved()
    models = served_models(connection)
    missing = [model for model in dict.fromkeys(asked) if models and model not in models]
    return Unserved(tuple(f"{choice.origin}: {unlisted(model, models)}" for model in missing), models)


def asked_in(forecast: Forecast) -> Iterator[str]:
    """The models that a run would ask."""
    for node in forecast.nodes:
        if node.model and (node.questions or node.embeds is not None):
            yield node.model
        yield from (question.model for question in node.questions if question.model)


def asked_by(files: Iterable[str], default: str | None) -> dict[str, list[str]]:
    """By model, the workflows in ``files`` that ask for it; ``default`` is asked where they name none. Files without a workflow
    that could run count for nothing.
    """
    from merrow_runtime.options import RunOptions
    from merrow_runtime.program.definitions import make_steps
    from merrow_runtime.program.loading import load

    asked: dict[str, list[str]] = {}
    for file in files:
        with suppress(RunFailure, InputError):
            workflow = load(file)
            steps = make_steps(workflow, RunOptions(default_model=default)).values()
            for model in sorted(set().union(*(step.models for step in steps if step.called is None))):
                asked.setdefault(model, []).append(file)
    return asked
