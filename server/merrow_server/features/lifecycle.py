"""Initialisation: what the client can do, its settings, and which files it is to watch for us."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

from lsprotocol import types

from merrow_server.lsp.server import MerrowServer

log = logging.getLogger(__name__)

SECTION = "merrow"
_PATIENCE = 2.0
"""Seconds that the first diagnostics wait for the client's settings."""
_WATCHED = ("**/*.toml", "**/*.py", "**/*.{yaml,yml}", "**/*.{mmd,mermaid}", "**/merrow.tools.json")
"""Settings files, also of other names, and what workflows name: prompt files, libraries and called workflows."""


def register(server: MerrowServer) -> None:
    server.feature(types.INITIALIZE)(initialize)
    server.feature(types.INITIALIZED)(initialized)
    server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)(did_change_configuration)
    server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)(did_change_watched_files)
    server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)(did_change_workspace_folders)


def initialize(server: MerrowServer, params: types.InitializeParams) -> None:
    server.initialize(params)


async def initialized(server: MerrowServer, _: types.InitializedParams) -> None:
    """Ask for what was to wait until the client is ready."""
    surroundings = server.surroundings
    surroundings.waits_for_settings = server.supports.configuration
    registrations = []
    if server.supports.watched_files:
        watchers = [types.FileSystemWatcher(pattern) for pattern in _WATCHED]
        options: Any = types.DidChangeWatchedFilesRegistrationOptions(watchers)
        registrations.append(types.Registration("merrow-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options))
    if server.supports.configuration_registration:
        options = types.DidChangeConfigurationRegistrationOptions(SECTION)
        registrations.append(types.Registration("merrow-settings", types.WORKSPACE_DID_CHANGE_CONFIGURATION, options))
    if registrations:
        server.protocol.send_request(types.CLIENT_REGISTER_CAPABILITY, types.RegistrationParams(registrations))
    await read_settings(server)


async def did_change_configuration(server: MerrowServer, params: types.DidChangeConfigurationParams) -> None:
    """Settings changed: ask for them, or take those that a client sends that can't be asked."""
    if server.supports.configuration:
        await read_settings(server)
    elif isinstance(params.settings, dict):
        server.surroundings.use_settings({None: params.settings.get(SECTION, {})})


def did_change_watched_files(server: MerrowServer, params: types.DidChangeWatchedFilesParams) -> None:
    from merrow_server.lsp.documents import path_of

    paths: list[Path] = [path for change in params.changes if (path := path_of(change.uri)) is not None]
    server.surroundings.files_changed(paths)


async def did_change_workspace_folders(server: MerrowServer, _: types.DidChangeWorkspaceFoldersParams) -> None:
    """Folders came or went: their settings with them."""
    await read_settings(server)


async def read_settings(server: MerrowServer) -> None:
    """Ask the client for its settings, for each folder; until it answers those of its start hold, or the defaults."""
    surroundings = server.surroundings
    if not server.supports.configuration:
        surroundings.use_settings({None: server.initial_settings})
        return
    folders: list[Path | None] = [*surroundings.folders]
    items = [types.ConfigurationItem(scope_uri=folder.as_uri(), section=SECTION) for folder in folders if folder]
    items.append(types.ConfigurationItem(section=SECTION))
    folders.append(None)
    question = asyncio.ensure_future(
        server.protocol.send_request_async(types.WORKSPACE_CONFIGURATION, types.ConfigurationParams(items))
    )
    surroundings.asked_for_settings = question
    try:
        done, _ = await asyncio.wait([question], timeout=_PATIENCE)
        if not done:
            log.warning("The client has not answered the question for its settings; the defaults hold until it does.")
            if surroundings.asked_for_settings is question:
                surroundings.use_settings({})
        values = await question
    except asyncio.CancelledError:
        return  # the client shut the server down meanwhile
    except Exception:
        log.exception("The client could not answer the question for its settings; the defaults hold.")
        values = []
    finally:
        question.cancel()
    if surroundings.asked_for_settings is not question:
        return  # it was asked again meanwhile: this answer may be older than the other one
    given = dict(zip(folders, values if isinstance(values, (list, tuple)) else [], strict=False))
    surroundings.use_settings({folder: plain(value) for folder, value in given.items()})


def plain(value: Any) -> object:
    """A value from the client as JSON has it: pygls makes objects of named tuples where it knows no type."""
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    return [plain(part) for part in value] if isinstance(value, (list, tuple)) else value
