"""What surrounds open documents: settings files, prompt files and libraries on disk or, where they are open, in the editor."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from merrow_runtime.outside.users_permissions import UsersPermissions
from merrow_server.lsp.documents import Context
from merrow_server.workspace import LARGEST_RESOURCE, PROJECT_FILE, SETTINGS_FILE, FileProvider, WorkspaceFinder

if TYPE_CHECKING:
    from merrow_analysis.rules.configuration import Config
    from merrow_server.lsp.settings import EditorSettings

Buffers = Callable[[Path], str | None]
"""The text of a file that is open in the editor; None for any other."""


MOST_ASKED = 10_000
"""Paths that are remembered; where more were asked for, every change of a file may matter."""


class RequestedPaths:
    """Absolute paths that were asked for, whether or not there is such a file; a bounded number of them."""

    def __init__(self) -> None:
        self._paths: set[Path] = set()
        self._any = False

    def add(self, path: Path) -> None:
        if len(self._paths) >= MOST_ASKED and path not in self._paths:
            self._any = True
        else:
            self._paths.add(path)

    def has_one_of(self, paths: Iterable[Path]) -> bool:
        """Whether one of ``paths`` was asked for; also true where too many were to tell."""
        return self._any or not self._paths.isdisjoint(paths)

    def some(self, most: int) -> list[Path]:
        """Some of them, ``most`` at most."""
        return list(islice(self._paths.copy(), most))


class OpenResources:
    """The files beside a workflow file as the editor has them; remembers which it was asked for.

    ``all_asked`` collects the paths that any of the objects which share it was asked for.
    """

    def __init__(
        self, files: FileProvider, root: Path, buffers: Buffers, all_asked: RequestedPaths | None = None
    ) -> None:
        self._files = files
        self._root = absolute_path(root)
        self._buffers = buffers
        self._all_asked = all_asked
        self.asked = RequestedPaths()
        """Paths on which an analysis depends."""

    @property
    def folder(self) -> Path:
        return self._files.folder

    def read(self, path: str) -> str:
        """The text of the file at ``path``. Raises `ResourceError`."""
        buffer = self._buffer(path)
        return self._files.read(path) if buffer is None else buffer

    def exists(self, path: str) -> bool:
        """Whether there is such a file inside the workspace."""
        return self._buffer(path) is not None or self._files.exists(path)

    def location(self, path: str) -> Path:
        """Where the file at ``path`` lies. Raises ValueError where that is not a path at all."""
        return absolute_path(self._files.folder / path)

    def is_inside(self, path: str) -> bool:
        """Whether a file at ``path`` would lie inside the workspace. Raises ValueError where that is no path at all."""
        return self.location(path).is_relative_to(self._root)

    def _buffer(self, path: str) -> str | None:
        try:
            absolute = self.location(path)
        except ValueError:
            return None
        self.asked.add(absolute)
        if self._all_asked is not None:
            self._all_asked.add(absolute)
        # A file outside the workspace is refused by whoever reads the disk, open or not.
        return self._buffers(absolute) if absolute.is_relative_to(self._root) else None


def absolute_path(path: Path) -> Path:
    """``path`` without ``..`` and symbolic links, as two paths are compared. Raises ValueError for no path at all."""
    try:
        return Path(os.path.realpath(path))
    except OSError:
        return Path(os.path.abspath(path))  # noqa: PTH100 - pathlib has nothing that removes .. without looking


class Contexts:
    """Hands out the contexts of documents. One object serves until something on disk or in the settings changes."""

    def __init__(self, buffers: Buffers, settings: Callable[[Path | None], EditorSettings]) -> None:
        """``settings`` gives the editor's settings for a file."""
        self._buffers = buffers
        self._settings = settings
        self.problems: list[str] = []
        self.asked = RequestedPaths()
        """Paths on which any analysis in one of the contexts depends."""
        self._configs: dict[Path, Config] = {}
        self._settings_files: set[Path] = set()
        """Absolute paths of those that were read, whatever their names: each keystroke asks for them."""
        self._surroundings = WorkspaceFinder()
        self._permissions: dict[Path, UsersPermissions] = {}
        """By the folder of the workflows that ask."""

    def forget(self) -> None:
        """Look at the disk again from now on; contexts that were given out before are used no more."""
        self._surroundings = WorkspaceFinder()
        self._permissions.clear()
        self.asked = RequestedPaths()
        self._configs.clear()
        self._settings_files.clear()
        self.problems.clear()

    def context(self, path: Path | None, folder: Path | None = None) -> Context:
        """The context of the file at ``path``; for an untitled document of one in ``folder`` (or none at all)."""
        own = self._settings(path if path is not None else folder)
        base = path.parent if path is not None else folder
        if base is None:
            return Context(config=own.apply(None))
        settings_file = own.configuration_file(base) or self._surroundings.settings_file(base)
        config = own.apply(None if settings_file is None else self._config(settings_file))
        root = self._surroundings.root(base)
        beside = root if settings_file is None else settings_file.parent
        permissions = self._permissions.get(base)
        if permissions is None:
            permissions = self._permissions[base] = UsersPermissions(root, base)
        config = replace(config, permissions=permissions)
        config = config.with_files(lambda file: Path(os.path.relpath(beside / file, base)).as_posix())
        name = None if path is None else Path(os.path.relpath(path, beside)).as_posix()
        return Context(name, OpenResources(FileProvider(base, root), root, self._buffers, self.asked), config)

    def is_settings_file(self, path: Path) -> bool:
        """Whether a change of the file at ``path`` may change configurations; editors' settings may name any file."""
        return path.name in (SETTINGS_FILE, PROJECT_FILE) or path in self._settings_files

    def _config(self, file: Path) -> Config:
        if file not in self._configs:
            self._configs[file] = self._read(file)
        return self._configs[file]

    def _read(self, file: Path) -> Config:
        from merrow_analysis.rules.configuration import DEFAULT, parse_configuration
        from merrow_server.errors import InputError
        from merrow_server.files import read_path

        place = absolute_path(file)
        self._settings_files.add(place)
        text = opened = self._buffers(place)
        if text is None:
            try:
                text = read_path(file, str(file), LARGEST_RESOURCE).text
            except InputError as problem:
                is_named = file.name not in (SETTINGS_FILE, PROJECT_FILE)
                self.problems.append(
                    f"{problem} The editor's setting `configuration` names it." if is_named else str(problem)
                )
                return DEFAULT
        config = parse_configuration(text, in_pyproject=file.name == PROJECT_FILE)
        if opened is not None:
            # Its problems are shown in the file itself.
            return config
        self.problems += [f"{file.name}, line {problem.line + 1}: {problem.message}" for problem in config.problems]
        return config


def depends_on(context: Context, paths: Iterable[Path]) -> bool:
    """Whether an analysis in this context asked for one of the files."""
    provider = context.provider
    return isinstance(provider, OpenResources) and provider.asked.has_one_of(paths)
