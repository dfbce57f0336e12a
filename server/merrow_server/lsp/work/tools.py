"""Servers of tools in an editor: listed, asked, pinned and trusted. Nothing is started without the user's consent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lsprotocol import types

from merrow_server.lsp.documents import path_of
from merrow_server.lsp.execution import EXECUTION
from merrow_server.lsp.host import Host
from merrow_server.lsp.protocol import FeatureError, InvalidParameters
from merrow_server.lsp.work.consents import ConsentAsker
from merrow_server.lsp.work.following import Following, NeedsConsentError, refused
from merrow_server.lsp.work.run_progress import ShownProgress
from merrow_server.rendering.snippet import plain

if TYPE_CHECKING:
    from merrow_runtime.outside.known_servers import KnownServers
    from merrow_server.jobs.session import Session
    from merrow_server.tools.pinning import Said

Json = dict[str, Any]
_T = TypeVar("_T")


class EditorTools:
    """The servers of tools of one editor. What they said when they were last asked is remembered, for lists."""

    def __init__(self, server: Host, jobs: Following, consents: ConsentAsker) -> None:
        self._server, self._jobs, self._consents = server, jobs, consents
        self._said: dict[Path, dict[str, Said]] = {}
        """By the file of pins, and by the server's name."""

    def folder(self, uri: str | None) -> Path:
        """The folder whose servers are meant: that of a document, the URI of a folder, or without one the first of the workspace.
        Raises `InvalidParameters`.
        """
        if uri is None:
            folders = self._server.surroundings.folders
            if folders:
                return folders[0]
            raise InvalidParameters("No folder is open, so `uri` must name a file or a folder.")
        path = path_of(uri)
        if path is None:
            raise InvalidParameters("`uri` must be the URI of a file or of a folder.")
        return path if path.is_dir() else path.parent

    async def list(self, folder: Path, names: Sequence[str] = ()) -> Json:
        """What can be used in a folder, as `merrow_server.tools.listing.listing` has it. Raises `FeatureError`."""

        def look(session: Session) -> Json:
            from merrow_server.tools.listing import listing
            from merrow_server.tools.servers import known_servers, pins_path, read_pins_of

            path = pins_path(folder)
            said = self._said.get(path, {})
            return listing(known_servers(folder), read_pins_of(path), path, names, said, _used(session))

        return await self._jobs.ask(look)

    async def trust(self, folder: Path, name: str, digest: str | None) -> Json:
        """Have the user agree to start a server, or to run the file of a local tool; how it stands then. ``digest`` is that of
        the definition which a client has shown them itself. Raises `FeatureError`.
        """

        def look(_: Session) -> bool:
            from merrow_runtime.outside.known_servers import NotTrustedFailure

            known = _known(folder)
            try:
                known.startable(name)
            except NotTrustedFailure as failure:
                if digest is None:
                    raise
                if digest != failure.known.digest:
                    return False
                failure.agree()
            return True

        try:
            agreed = await self._jobs.ask(look)
        except NeedsConsentError as needed:
            await self._consents.get(needed)
            agreed = True
        if not agreed:
            raise refused(f"The definition of {plain(name)} has changed since it was shown; look at it again.")
        return await self._listed(folder, name)

    async def forget(self, folder: Path, name: str) -> Json:
        """Trust a server, a local tool, or calls of a tool no more; how many consents there were, and how it stands."""

        def forget(_: Session) -> int:
            known = _known(folder)
            return known.consents.remove(name, str(known.workspace))

        return {"forgotten": await self._jobs.ask(forget), **await self._listed(folder, name)}

    async def pull(self, folder: Path, server: str, wanted: Sequence[str], *, accept: bool) -> Json:
        """Pin tools of a server, all where none are ``wanted``: ``{server, pins, changed, problems, count, written}``. The user
        is asked first where pins would change or something can't be seen, unless ``accept``. Raises `FeatureError`.
        """
        said = await self._asked(folder, server)

        def compare(_: Session) -> Any:
            from merrow_server.tools.pinning import compared

            return compared(said, wanted, folder)

        pulled = await self._jobs.ask(compare)
        found = {
            "server": server,
            "pins": str(pulled.path),
            "changed": [change.to_json() for change in pulled.changed],
            "problems": list(pulled.problems),
            "count": pulled.count,
        }
        if not accept and any(change.hidden or not change.is_new for change in pulled.changed):
            from merrow_server.tools.consent_words import question_about

            answer = await self._consents.ask(question_about(server, pulled))
            if answer is None:
                raise FeatureError(
                    f"Nothing is pinned: what {plain(server)} says of its tools is not what is pinned, or has characters that"
                    " can't be seen. See it with `merrow tools pull`, or execute the command with `accept: true`.",
                    types.LSPErrorCodes.RequestFailed,
                    found,
                )
            if not answer:
                return {**found, "written": False}
        if pulled.changed:
            self._check_saved(pulled.path)
            await self._jobs.ask(lambda _: pulled.write())
            self._server.surroundings.files_changed([pulled.path])
        return {**found, "written": bool(pulled.changed)}

    def _check_saved(self, path: Path) -> None:
        """Raise `FeatureError` where a file is to be written that has changes in the editor."""
        document = self._server.document(path.as_uri())
        on_disk = path.read_text(encoding="utf-8", errors="replace") if document is not None and path.exists() else ""
        if document is not None and document.text != on_disk:
            raise refused(f"{path.name} has changes that are not saved. Save it, then pin the tools again.")

    async def check(self, folder: Path, names: Sequence[str]) -> Json:
        """What servers say otherwise than their pins, as ``merrow tools check --json`` prints it. The user is asked for consent
        to start a server that is named; others that lack it are a problem. Raises `FeatureError`.
        """

        def pinned(_: Session) -> list[str]:
            from merrow_server.tools.servers import pins_path, read_pins_of

            return sorted(read_pins_of(pins_path(folder)).servers)

        def compare(said: Said) -> list[Json]:
            from merrow_server.tools.pinning import differing
            from merrow_server.tools.servers import pins_path, read_pins_of

            return [change.to_json() for change in differing(said, read_pins_of(pins_path(folder)))]

        with_pins = await self._jobs.ask(pinned)
        differs: list[Json] = []
        problems: list[str] = []
        for name in names or with_pins:
            if name not in with_pins:
                problems.append(f"No tool of {plain(name)} is pinned; pin them with: merrow tools pull {plain(name)}")
                continue
            try:
                said = await self._asked(folder, name, consents=bool(names))
                differs += await self._jobs.ask(lambda _, said=said: compare(said))  # type: ignore[misc]
            except FeatureError as problem:
                if problem.code == types.LSPErrorCodes.RequestCancelled:
                    raise
                problems.append(str(problem))
        return {"differs": differs, "problems": problems}

    async def add(
        self,
        name: str,
        command: Sequence[str],
        url: str | None,
        source: str | None,
        env: Sequence[str],
        cwd: str | None,
    ) -> Json:
        """Write a server into the user's settings, as ``merrow tools add``: ``{name, settings, shown, notes}``. Raises
        `FeatureError`.
        """
        folders = self._server.surroundings.folders

        def add(_: Session) -> Json:
            from merrow_server.tools import adding

            notes: list[str] = []
            if source is None:
                server = adding.described(name, command, url, env, cwd)
            else:
                server, notes = adding.copied(name, source, folders[0] if folders else Path())
            path = adding.add(server)
            return {"name": name, "settings": str(path), "shown": adding.shown(server), "notes": notes}

        added = await self._jobs.ask(add)
        self._server.surroundings.reload()
        return added

    async def new(self, folder: Path, name: str) -> Json:
        """Write the file of a tool: ``{name, uri}``. Raises `FeatureError`."""

        def write(_: Session) -> Path:
            from merrow_server.tools.new_tool import new_tool

            return new_tool(name, folder)

        path = await self._jobs.ask(write)
        return {"name": f"local.{name}", "uri": path.as_uri()}

    async def _listed(self, folder: Path, name: str) -> Json:
        """A server, or a local tool, as it is listed; None where it is not listed by this name."""
        servers = (await self.list(folder))["servers"]
        return {"name": name, "server": next((row for row in servers if row["name"] == name), None)}

    async def _asked(self, folder: Path, name: str, *, consents: bool = True) -> Said:
        """What a server says of its tools, which starts it; the user is asked for their consent where that is needed."""
        while True:
            told: list[str] = []

            async def ask(_: Session, told: list[str] = told) -> tuple[Path, Said]:
                from merrow_runtime.errors import ToolFailure
                from merrow_server.tools.pinning import said_by
                from merrow_server.tools.servers import pins_path

                try:
                    return pins_path(folder), await said_by(_known(folder), name)
                except ToolFailure as failure:
                    told.append(failure.told)
                    raise

            try:
                path, said = await self._shown(f"Asking {plain(name)} for its tools", ask)
            except NeedsConsentError as needed:
                if not consents:
                    raise
                await self._consents.get(needed)
                continue
            except FeatureError as problem:
                if told and isinstance(problem.data, dict):
                    problem.data["told"] = plain(told[0])
                raise
            self._said.setdefault(path, {})[name] = said
            return said

    async def _shown(self, title: str, work: Callable[[Session], Coroutine[Any, Any, _T]]) -> _T:
        """Work in the thread of the jobs, with progress. It is cancelled with its request, and by its button."""
        task = asyncio.ensure_future(self._jobs.have(work))

        def cancel() -> None:
            task.cancel()

        progress = ShownProgress(self._server, title, cancel)
        EXECUTION.get().on_cancel(cancel)
        try:
            await progress.begin()
            return await task
        except asyncio.CancelledError:
            raise FeatureError(f"{title} was cancelled.", types.LSPErrorCodes.RequestCancelled) from None
        finally:
            progress.end()


def _known(folder: Path) -> KnownServers:
    from merrow_server.tools.servers import known_servers

    return known_servers(folder)


def _used(session: Session) -> Mapping[str, float]:
    """When tools were last called; nothing where the journal can't be read."""
    from merrow_runtime.errors import StoreFailure

    try:
        with session.reading() as store:
            return store.tools_used()
    except StoreFailure:
        return {}
