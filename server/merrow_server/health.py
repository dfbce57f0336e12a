"""Whether all that runs need is there: what is installed, which endpoint is reached, what holds generated code."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from typing import TYPE_CHECKING, Any

from merrow_server.choosing_models import ServerOffer, asked_by, offers
from merrow_server.errors import RunFailure
from merrow_server.rendering.counts import counted
from merrow_server.rendering.snippet import visible

if TYPE_CHECKING:
    from merrow_runtime.models.selection import EndpointChoice
    from merrow_runtime.models.user_settings import UserSettings

_PACKAGES = ("openai", "aiohttp", "pygls", "lark")
_NEEDED = dict.fromkeys(("openai", "aiohttp"), "'openai[aiohttp]'")
"""What to install for a package, where it is not called as the package is."""
_MOST_FILES = 200
"""Workflows whose models are looked at."""
_NAMED_FILES = 3


def health(
    base_url: str | None = None,
    *,
    discovers: bool = False,
    files: Iterable[str] = (),
    access: tuple[Mapping[str, str], UserSettings] | None = None,
) -> dict[str, Any]:
    """By part (``installed``, ``journal``, ``endpoint``, ``sandbox``) whether it is ``ok``, and its ``lines`` of ``{ok, text}``.

    Where ``ok`` is None, a line only tells something. No model is called and no key is shown. Takes seconds where an endpoint
    does not answer; for threads without an event loop. Where no endpoint is set and it ``discovers``, it looks for model
    servers on this machine. An endpoint that lists its models must have those that the workflows in ``files`` ask for.
    ``access`` is what takes the place of the environment and of the user's settings: those of an editor, with its keys.
    """
    return {
        "installed": _installed(),
        "journal": _journal(),
        "endpoint": _endpoint(base_url, files, access, discovers=discovers),
        "sandbox": _sandbox(),
    }


def _part(lines: list[tuple[bool | None, str]], *, ok: bool | None = None, **further: Any) -> dict[str, Any]:
    good = all(line is not False for line, _ in lines) if ok is None else ok
    return {"ok": good, "lines": [{"ok": line, "text": text} for line, text in lines], **further}


def _installed() -> dict[str, Any]:
    lines: list[tuple[bool | None, str]] = [
        (True, f"merrow {_own_version()}"),
        (True, f"Python {platform.python_version()} on {platform.system()} {platform.machine()} ({sys.executable})"),
    ]
    for package in _PACKAGES:
        try:
            lines.append((True, f"{package} {version(package)}"))
        except PackageNotFoundError:
            lines.append((False, f"{package} is missing; install it with: pip install {_NEEDED.get(package, package)}"))
    return _part(lines)


def _own_version() -> str:
    try:
        return version("merrow")
    except PackageNotFoundError:
        return "as an editor's extension brings it"  # Its copy is no installed package.


def _journal() -> dict[str, Any]:
    from merrow_runtime.store.address import author, configured
    from merrow_runtime.store.database import Store
    from merrow_runtime.store.location import FILE, state_folder

    place = str(state_folder() / FILE)
    try:
        address = configured()
        place = place if address is None else address.shown
        with closing(Store.open(reading=True)) as store:
            count, size = store.run_count, store.size
            if store.refused is not None:
                lines: list[tuple[bool | None, str]] = [
                    # Who may only read a journal that a team shares has all that a reader needs.
                    (None if address else False, str(store.refused)),
                    (None, f"journal: {place}: {counted(count, 'run')}, which can be read"),
                ]
                return _part(lines, path=place)
    except RunFailure as problem:
        return _part([(False, str(problem)), (None, f"journal: {place}")], path=place)
    whose = "" if address is None else f", which others may share; you are {author()} there"
    return _part([(True, f"{place}: {counted(count, 'run')}, {size / 1e6:.1f} MB{whose}")], path=place)


def _endpoint(
    base_url: str | None,
    files: Iterable[str],
    access: tuple[Mapping[str, str], UserSettings] | None,
    *,
    discovers: bool,
) -> dict[str, Any]:
    from merrow_runtime.models.selection import ModelOptions, decide
    from merrow_runtime.models.user_settings import read_user_settings, settings_path
    from merrow_runtime.provenance import OFFLINE_ORIGIN

    try:
        environment, settings = access or (os.environ, read_user_settings())
        choice = decide(ModelOptions(base_url=base_url), environment, settings)
    except RunFailure as problem:
        return _part([(False, str(problem))])
    lines: list[tuple[bool | None, str]] = []
    servers: list[ServerOffer] = []
    if choice.connection is None:
        lines.append((True, f"the embedded offline model ({OFFLINE_ORIGIN}): free, and no real model"))
        lines.append((None, "set OPENAI_API_KEY, OPENAI_BASE_URL or --base-url to use a real one"))
        if discovers and choice.source == "nothing":
            servers = offers()
            lines += [(None, visible(offer.sentence)) for offer in servers]
    else:
        from merrow_runtime.models.reach import reach, unlisted

        lines.append((True, f"{choice.origin}, named by the {choice.source}"))
        lines.append((None, f"key: {choice.key_source or 'none is sent'}"))
        reached = asyncio.run(reach(choice.connection))
        lines.append((reached.ok, visible(reached.sentence)))
        if choice.model is not None and reached.models and choice.model not in reached.models:
            lines.append(
                (
                    False,
                    visible(f"{choice.model} is the model of your settings. {unlisted(choice.model, reached.models)}"),
                )
            )
        lines += _missing(choice, reached.models, files)
    lines += [(None, notice) for notice in choice.notices]
    where = str(settings.path) if settings.path is not None else f"none ({settings_path()} isn't there)"
    lines.append((None, f"your own settings: {where}"))
    return _part(
        lines, origin=choice.origin, found=[{"url": offer.base_url, "models": list(offer.models)} for offer in servers]
    )


def _missing(
    choice: EndpointChoice, models: tuple[str, ...], files: Iterable[str]
) -> Iterator[tuple[bool | None, str]]:
    """A line for each model that workflows ask for and that the endpoint doesn't list."""
    from merrow_runtime.models.reach import unlisted

    if not models:
        return
    some = list(islice(files, _MOST_FILES + 1))
    default = choice.model or (models[0] if len(models) == 1 else None)
    asked = asked_by(some[:_MOST_FILES], default)
    for model, by in asked.items():
        if model not in models and model != choice.model:
            more = f" and {len(by) - _NAMED_FILES} more" if len(by) > _NAMED_FILES else ""
            yield False, visible(f"{', '.join(by[:_NAMED_FILES])}{more}: {unlisted(model, models)}")
    if len(some) > _MOST_FILES:
        yield None, f"the models of the first {_MOST_FILES} workflows were looked at; name others: merrow doctor FILE"


def _sandbox() -> dict[str, Any]:
    from merrow_runtime.sandbox import SandboxRefusedError, available_backends
    from merrow_runtime.sandbox.backends import choose

    try:
        in_force: str | None = choose(None, False).name
        lines: list[tuple[bool | None, str]] = [(True, f"in force: {in_force}")]
    except SandboxRefusedError as problem:
        in_force = None
        lines = [(False, str(problem))]
    for backend in available_backends():
        holds = f"; it holds {', '.join(backend.holds)}" if backend.usable and backend.holds else ""
        lines.append((None, f"{backend.name}: {'usable' if backend.usable else 'not usable'}, {backend.why}{holds}"))
    return _part(lines, in_force=in_force)
