"""What stands around a workflow file: its workspace, its settings file, and the files that its analysis may read."""

from __future__ import annotations

from pathlib import Path

from merrow_analysis.bounded.toml import read_toml
from merrow_analysis.definitions.provider import ResourceError
from merrow_runtime.errors import InputError
from merrow_runtime.program.workflow_files import read_path

LARGEST_RESOURCE = 10_000_000
"""Prompt files and operator libraries are text written by people; more bytes than this are refused."""

SETTINGS_FILE = "merrow.toml"
PROJECT_FILE = "pyproject.toml"


class WorkspaceFinder:
    """Finds workspaces and settings files. One object serves one run and looks at each folder once."""

    def __init__(self) -> None:
        self._settings: dict[Path, Path | None] = {}
        self._providers: dict[Path, FileProvider] = {}

    def settings_file(self, folder: Path) -> Path | None:
        """The settings nearest to ``folder``, upwards: merrow.toml, or pyproject.toml where it has [tool.merrow]."""
        passed: list[Path] = []
        path: Path | None = None
        for parent in (folder, *folder.parents):
            if parent in self._settings:
                path = self._settings[parent]
                break
            passed.append(parent)
            path = _settings_in(parent)
            if path is not None:
                break
        self._settings.update(dict.fromkeys(passed, path))
        return path

    def root(self, folder: Path) -> Path:
        """The workspace of files in ``folder``: the nearest folder upwards with settings or ``.git``, or ``folder``."""
        settings = self.settings_file(folder)
        for parent in (folder, *folder.parents):
            if (settings is not None and parent == settings.parent) or _exists(parent / ".git"):
                return parent
        return folder

    def provider(self, folder: Path) -> FileProvider:
        """The files that workflow files in ``folder`` may read."""
        if folder not in self._providers:
            self._providers[folder] = FileProvider(folder, self.root(folder))
        return self._providers[folder]


def _settings_in(folder: Path) -> Path | None:
    if _exists(folder / SETTINGS_FILE):
        return folder / SETTINGS_FILE
    project = folder / PROJECT_FILE
    if not _exists(project):
        return None
    try:
        text = read_path(project, str(project), LARGEST_RESOURCE).text
        return project if "merrow" in text and "merrow" in read_toml(text).get("tool", {}) else None
    except (InputError, ValueError):
        # Somebody else's file: what is wrong with it is not for Merrow to say.
        return None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


class FileProvider:
    """Reads the files beside a workflow file for its analysis, each at most once.

    What may be read: regular files of UTF-8 text, up to `LARGEST_RESOURCE` bytes, that lie inside the workspace after
    links are resolved.
    """

    def __init__(self, folder: Path, root: Path) -> None:
        """Paths are relative to ``folder``, that of the workflow file; nothing outside ``root`` is read."""
        self.folder = folder
        self._root = root.resolve()
        self._texts: dict[str, str | ResourceError] = {}

    def read(self, path: str) -> str:
        """The text of the file at ``path``. Raises `ResourceError`."""
        if path not in self._texts:
            try:
                self._texts[path] = read_path(self._inside(path), path, LARGEST_RESOURCE).text
            except InputError as problem:
                self._texts[path] = ResourceError(str(problem))
            except ResourceError as problem:
                self._texts[path] = problem
        text = self._texts[path]
        if isinstance(text, ResourceError):
            raise text
        return text

    def exists(self, path: str) -> bool:
        """Whether there is such a file inside the workspace."""
        try:
            return self._inside(path).is_file()
        except (ResourceError, OSError):
            return False

    def _inside(self, path: str) -> Path:
        try:
            resolved = (self.folder / path).resolve()
        except (OSError, ValueError, RuntimeError):
            raise ResourceError(f"{path} can't be read: there is no such path.") from None
        if not resolved.is_relative_to(self._root):
            raise ResourceError(f"{path} lies outside the workspace {self._root}; move it inside to use it.")
        return resolved
