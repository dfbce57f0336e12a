"""Files beside another one, and answers about texts that are remembered with the files that were read for them."""

from __future__ import annotations

import posixpath
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from merrow_analysis.definitions.provider import Provider, ResourceError
from merrow_analysis.rules.configuration import Config

_REMEMBERED = 256
T = TypeVar("T")


def beside(file: str, path: str) -> str:
    """``path``, as ``file`` names it, from the folder from which ``file`` is named."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(file), path.strip()))


class FilesBeside:
    """The files beside another file, by their paths from its folder."""

    def __init__(self, provider: Provider, file: str) -> None:
        self._provider, self._file = provider, file

    def read(self, path: str) -> str:
        """The text of the file. Raises `ResourceError`."""
        return self._provider.read(beside(self._file, path))

    def exists(self, path: str) -> bool:
        """Whether there is such a file that may be read."""
        return self._provider.exists(beside(self._file, path))


class Reads:
    """Hands on what a provider gives, and remembers what it was."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.found: dict[tuple[str, bool], object] = {}
        """By path, and whether its text was asked for: the text, or else the sentence why not; or whether it exists."""

    def read(self, path: str) -> str:
        """The text of the file. Raises `ResourceError`."""
        text = self.found[path, True] = said_of(self.provider, path, True)
        if isinstance(text, ResourceError):
            self.found[path, True] = str(text)
            raise text
        return str(text)

    def exists(self, path: str) -> bool:
        """Whether there is such a file that may be read."""
        is_there = self.found[path, False] = said_of(self.provider, path, False)
        return bool(is_there)

    def same_in(self, provider: Provider) -> bool:
        """Whether the files say the same there."""
        for (path, is_text), before in self.found.items():
            now = said_of(provider, path, is_text)
            if (str(now) if isinstance(now, ResourceError) else now) != before:
                return False
        return True


def said_of(provider: Provider, path: str, is_text: bool) -> object:
    """The text of a file, or the `ResourceError` that there is none; or, unless ``is_text``, whether it exists."""
    if not is_text:
        return provider.exists(path)
    try:
        return provider.read(path)
    except ResourceError as problem:
        return problem


class ReadMemory:
    """Answers about texts, each kept with what was read for it."""

    def __init__(self) -> None:
        self._answers: OrderedDict[tuple[str, str, str], list[tuple[Config, Reads, object]]] = OrderedDict()

    def remembered(
        self, what: str, path: str, text: str, config: Config, provider: Provider, make: Callable[[Provider], T]
    ) -> T:
        """What ``make`` answers, given the files beside ``path``, or has answered where all of them said the same."""
        key = what, path, text
        known = self._answers.pop(key, [])
        self._answers[key] = known
        for entry in known:
            if entry[0] == config and entry[1].same_in(provider):
                return entry[2]  # type: ignore[return-value]  # made by the same ``make``, by ``what``
        reads = Reads(provider)
        made = make(reads)
        known[:] = [*known[-3:], (config, reads, made)]
        if len(self._answers) > _REMEMBERED:
            self._answers.popitem(last=False)
        return made
