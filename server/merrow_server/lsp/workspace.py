"""The workspace as the editor has it: settings for each folder, and which documents to check again when something changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lsprotocol import types

from merrow_server.lsp.contexts import Contexts, absolute_path, depends_on
from merrow_server.lsp.documents import Context, OpenDocument, path_of
from merrow_server.lsp.host import Host
from merrow_server.lsp.logs import set_level
from merrow_server.lsp.settings import EditorSettings, read_editor_settings
from merrow_server.rendering.snippet import plain

log = logging.getLogger(__name__)

_REFRESH_DELAY = 0.05


class Workspace:
    """Settings and files around the open documents of one server."""

    def __init__(self, server: Host) -> None:
        self._server = server
        self._settings: dict[Path | None, EditorSettings] = {None: EditorSettings()}
        self._buffers: dict[Path, OpenDocument] = {}
        self._paths: dict[str, Path] = {}
        self._told: set[str] = set()
        self._refresh: asyncio.TimerHandle | None = None
        self.contexts = Contexts(self._buffer, self._settings_of)
        self.waits_for_settings = False
        """Whether the client was asked for its settings and has not answered yet; nothing is shown until then, or for long."""
        self.asked_for_settings: asyncio.Future[Any] | None = None
        """The last question for them: only its answer counts."""
        for document in server.documents.values():
            self._remember(document)

    @property
    def folders(self) -> list[Path]:
        """The workspace folders on disk."""
        workspace = self._server.workspace
        uris = [folder.uri for folder in workspace.folders.values()]
        if not uris and workspace.root_uri:
            uris = [workspace.root_uri]
        return [path for uri in uris if (path := path_of(uri)) is not None]

    def folder_of(self, path: Path | None) -> Path | None:
        """The innermost workspace folder around ``path``; the first one for a document without a path."""
        folders = self.folders
        if path is None:
            return folders[0] if folders else None
        around = [folder for folder in folders if path.is_relative_to(folder)]
        return max(around, key=lambda folder: len(folder.parts), default=None)

    def settings(self, document: OpenDocument | None) -> EditorSettings:
        """The editor's settings for ``document``; without one, those for the first folder."""
        return self._settings_of(self.folder_of(None) if document is None else document.path)

    def context(self, document: OpenDocument) -> Context:
        """The context of a document that was opened; what is wrong with its settings file is told once."""
        self._remember(document)
        context = self.context_of(document)
        self._tell(self.contexts.problems)
        return context

    def context_of(self, document: OpenDocument) -> Context:
        """The context of a document, whether or not the editor has it open."""
        return self.contexts.context(document.path, self.folder_of(document.path))

    def use_settings(self, given: dict[Path | None, object]) -> None:
        """Take over the values of the client's section for each folder, and check what is open again."""
        self.waits_for_settings = False
        self._settings = {None: EditorSettings()}
        problems: list[str] = []
        for folder, value in given.items():
            self._settings[folder], wrong = read_editor_settings(value, folder)
            problems += wrong
        self._told.intersection_update(problems)
        self._tell(problems)
        set_level(self._server.log, self._settings_of(self.folder_of(None)).log_level)
        self.reload()

    def reload(self) -> None:
        """Look at the disk again, and check all open documents in their new contexts."""
        self.contexts.forget()
        self._server.reports.forget_files()
        for document in self._server.documents.values():
            if document.kind != "other":
                document.refresh(self.context_of(document))
        self._tell(self.contexts.problems)
        self._check_again(self._server.documents.values())

    def files_changed(self, paths: Iterable[Path]) -> None:
        """Files on disk were made, changed or removed."""
        changed = {absolute_path(path) for path in paths}
        if any(self.contexts.is_settings_file(path) or path.name == ".git" for path in changed):
            self.reload()
            return
        stale = self._server.reports.forget_files(changed)
        dependent = self._readers(changed)
        for document in dependent:
            document.refresh(self.context_of(document))
        if dependent or stale:
            self._check_again(dependent)

    def buffer_changed(self, document: OpenDocument) -> None:
        """An open document changed: those that read it are checked again."""
        path = self._remember(document)
        if path is None:
            return
        if self.contexts.is_settings_file(path):
            self.reload()
            return
        stale = self._server.reports.forget_files((path,))
        dependent = self._readers({path})
        for reader in dependent:
            reader.refresh(reader.context)
        if dependent or stale:
            self._check_again(dependent)

    def _readers(self, paths: set[Path]) -> list[OpenDocument]:
        """The open documents whose analysis asked for one of the files."""
        # Most files are read by no other: with thousands of documents open, a keystroke must not look at all of them.
        if not self.contexts.asked.has_one_of(paths):
            return []
        return [document for document in self._server.documents.values() if depends_on(document.context, paths)]

    def closed(self, document: OpenDocument) -> None:
        """A document was closed: its file on disk counts from now on."""
        path = self._paths.pop(unquote(document.uri), None)
        if path is not None and self._buffers.pop(path, None) is not None:
            self.files_changed([path])

    def _check_again(self, documents: Iterable[OpenDocument]) -> None:
        """What ``documents`` depend on has changed, or files that are not open have."""
        self._server.reports.changed()
        self._ask_to_refresh()
        if self._server.supports.pull_diagnostics:
            return
        for document in documents:
            if document.kind != "other":
                self._server.scheduler.touch(document.uri)

    def _ask_to_refresh(self) -> None:
        """Have the client ask again for what it has asked for, once for changes that come together."""
        if self._refresh is not None:
            self._refresh.cancel()
        self._refresh = asyncio.get_running_loop().call_later(_REFRESH_DELAY, self._server.ask_to_refresh)

    def _remember(self, document: OpenDocument) -> Path | None:
        """The path by which ``document`` is found when others read it."""
        key = unquote(document.uri)
        if key not in self._paths:
            if document.path is None:
                return None
            try:
                self._paths[key] = absolute_path(document.path)
            except ValueError:
                return None
        path = self._paths[key]
        self._buffers[path] = document
        return path

    def _buffer(self, path: Path) -> str | None:
        document = self._buffers.get(path)
        # What is on disk is refused with a sentence where that is too large as well.
        return None if document is None or document.kind == "too large" else document.text

    def _settings_of(self, path: Path | None) -> EditorSettings:
        folder = self.folder_of(path)
        return self._settings.get(folder) or self._settings.get(None) or EditorSettings()

    def _tell(self, problems: Iterable[str]) -> None:
        for problem in problems:
            if problem not in self._told:
                self._told.add(problem)
                self._server.window_show_message(types.ShowMessageParams(types.MessageType.Warning, plain(problem)))
