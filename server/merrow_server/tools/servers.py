"""Which servers of tools there are here, and where the workspace keeps its pins; nothing is started."""

from __future__ import annotations

from pathlib import Path

from merrow_analysis.tools.pins import NO_PINS, PINS_FILE, Pins, PinsError, read_pins
from merrow_runtime.models.user_settings import read_user_settings
from merrow_runtime.outside.known_servers import KnownServers
from merrow_server.errors import InputError
from merrow_server.files import read_path
from merrow_server.workspace import LARGEST_RESOURCE, WorkspaceFinder


def known_servers(folder: Path) -> KnownServers:
    """All that workflows in a folder can use. Raises `UsageFailure` where the user's settings can't be read."""
    return KnownServers(read_user_settings(), WorkspaceFinder().root(folder.resolve()), folder)


def pins_path(folder: Path) -> Path:
    """The file of pins nearest to a folder, upwards within its workspace; where there is none, that of the workspace."""
    folder = folder.resolve()
    root = WorkspaceFinder().root(folder)
    for place in (folder, *folder.parents):
        if (place / PINS_FILE).is_file():
            return place / PINS_FILE
        if place == root:
            break
    return root / PINS_FILE


def read_pins_of(path: Path) -> Pins:
    """The pins in a file; none where there is no such file. Raises `InputError`."""
    if not path.exists():
        return NO_PINS
    try:
        return read_pins(read_path(path, str(path), LARGEST_RESOURCE).text)
    except PinsError as problem:
        raise InputError(str(problem)) from None
