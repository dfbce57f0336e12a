"""A workflow's own file and those beside it, with files that are yet to be written."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from merrow_analysis.check import Analyser, Analysis
from merrow_analysis.definitions.provider import Provider, ResourceError
from merrow_analysis.files_read import FilesBeside
from merrow_analysis.rules.configuration import Config
from merrow_analysis.text import TextEdit

_STRANGE = re.compile(r"[^\w-]+")


class _Planned:
    """The files of a provider, and some more."""

    def __init__(self, provider: Provider | None, more: Mapping[str, str]) -> None:
        self._provider, self._more = provider, {posixpath.normpath(path): text for path, text in more.items()}

    def read(self, path: str) -> str:
        """The text of the file. Raises `ResourceError`."""
        text = self._more.get(posixpath.normpath(path))
        if text is not None:
            return text
        if self._provider is None:
            raise ResourceError(f"{path} can't be read.")
        return self._provider.read(path)

    def exists(self, path: str) -> bool:
        """Whether there is such a file that may be read."""
        known = posixpath.normpath(path) in self._more
        return known or (self._provider is not None and self._provider.exists(path))


def with_files(provider: Provider | None, more: Mapping[str, str]) -> Provider | None:
    """A provider that has ``more`` files, texts by path; the same one where there are none."""
    return _Planned(provider, more) if more else provider


@dataclass(frozen=True, slots=True)
class Files:
    """How a workflow is opened: its ``path`` from the folder of its settings, what gives the files beside it, its settings.

    ``provider`` is None for a text that is not a file; then no other file can be named in it. ``reading`` is an analyser of the
    workflow's text, where somebody has one: what is tried begins with what that knows.
    """

    path: str | None = None
    provider: Provider | None = None
    config: Config = field(default_factory=Config)
    reading: Analyser | None = None

    def open(self, text: str, more: Mapping[str, str] | None = None) -> Analyser:
        """The text as if it were the file's, with ``more`` files beside it."""
        provider = with_files(self.provider, more or {})
        return Analyser(text, path=self.path, provider=provider, config=self.config)

    def open_after(
        self, before: Analysis, edits: Sequence[TextEdit], mutant: str, more: Mapping[str, str] | None = None
    ) -> Analyser:
        """The text ``mutant``, which ``edits`` make of an analysed one, with ``more`` files beside it; the edits are in the
        order of the text.
        """
        if self.reading is None or self.reading.document.diagram is not before.diagram:
            return self.open(mutant, more)
        trial = self.reading.fork(with_files(self.reading.provider, more or {}))
        for edit in reversed(edits):
            trial.edit(edit)
        return trial

    def analyse_beside(self, name: str, text: str) -> Analysis:
        """A text as if it were the file ``name`` in the same folder."""
        return Files(self._path_of(name), self.provider, self.config).open(text).analysis()

    def called(self, path: str) -> Analysis:
        """The file at ``path`` as it is called. Raises `ResourceError`."""
        if self.provider is None:
            raise ResourceError(f"{path} can't be read.")
        name = posixpath.normpath(path)
        inner = Files(self._path_of(name), FilesBeside(self.provider, name), self.config)
        return inner.open(self.provider.read(name)).analysis()

    def leads_back(self, path: str, caller: str) -> bool:
        """Whether a path names the workflow's own file, or the one that names it."""
        own = None if self.path is None else posixpath.basename(self.path)
        return posixpath.normpath(path) in (own, posixpath.normpath(caller))

    def _path_of(self, name: str) -> str:
        return name if self.path is None else posixpath.normpath(posixpath.join(posixpath.dirname(self.path), name))

    def free_name(self, wanted: str, taken: Collection[str] = ()) -> str:
        """The name of a workflow file that isn't there yet: ``wanted.mmd``, ``wanted_2.mmd``, ... in small letters."""
        stem = _STRANGE.sub("_", wanted).strip("_").lower() or "part"
        name, number = f"{stem}.mmd", 1
        while name in taken or (self.provider is not None and self.provider.exists(name)):
            number += 1
            name = f"{stem}_{number}.mmd"
        return name
