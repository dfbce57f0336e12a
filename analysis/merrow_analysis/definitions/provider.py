"""How the analysis asks for files it does not open itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class ResourceError(Exception):
    """A file can't be had; ``str()`` of it is one sentence for the user."""


class Provider(Protocol):
    """Hands out the text of files beside a workflow file.

    Paths are relative to the workflow file and use ``/``. Whoever implements it decides what may be read: nothing
    outside the workspace, after links are resolved.
    """

    def read(self, path: str) -> str:
        """The text of the file. Raises `ResourceError` where it is missing, unreadable or not to be read."""
        ...

    def exists(self, path: str) -> bool:
        """Whether there is such a file that may be read."""
        ...


class NoFiles:
    """A `Provider` that has nothing to read: ``refusal`` gives the sentence for a path."""

    def __init__(self, refusal: Callable[[str], str]) -> None:
        self._refusal = refusal

    def read(self, path: str) -> str:
        raise ResourceError(self._refusal(path))

    def exists(self, path: str) -> bool:
        del path
        return False
