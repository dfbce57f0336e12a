"""The pages of ``merrow view`` over HTTP: everything is below a token in the address, and without it there is nothing."""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from merrow_server.errors import RunFailure
from merrow_server.job_pages import JobPage
from merrow_server.rendering.snippet import plain
from merrow_server.service.listening import HOSTS, sealed
from merrow_server.viewing.from_journal import JournalViews
from merrow_server.viewing.outer_pages import file_page, frame_page, job_page
from merrow_server.viewing.shown import NothingToShowError, ShownFile

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

_EVENTS = "text/event-stream"
_QUIET = 10.0
"""Seconds after which a stream says that it is still there."""
_RUNS_EVERY, _PAGE_EVERY = 0.7, 1.0
"""Seconds between two looks into the journal, at least: they may take a quarter of the time at most."""
_SHARE = 4
_TICKET = 60.0
"""Seconds in which a ticket can be used."""
_TYPES = {".js": "text/javascript", ".css": "text/css"}
_PACKED = (
    "engine.js",
    "preview.js",
    "preview.css",
    "frame.js",
    "frame.css",
    "file.js",
    "file.css",
    "document.js",
    "document.css",
)
_IN_FRAME = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'self'"
)


class ServedPages:
    """What one server shows: files by number, and the journal. ``over`` ends all streams."""

    def __init__(self) -> None:
        self.files: dict[int, ShownFile] = {}
        self.journal = JournalViews()
        self.over = asyncio.Event()
        self._tickets: dict[str, str] = {}
        self._kept: set[asyncio.Task[None]] = set()

    def add(self, file: ShownFile) -> str:
        """Show one more file; the path of its page, below the token."""
        number = len(self.files) + 1
        self.files[number] = file
        return f"/file/{number}"

    def keep(self, work: Coroutine[Any, Any, None]) -> None:
        """Have this done while there are pages."""
        task = asyncio.ensure_future(work)
        self._kept.add(task)
        task.add_done_callback(self._kept.discard)

    def ticket(self, path: str) -> str:
        """A path that leads to another one once, and soon. For the command lines of browsers, which other users can read."""
        made = secrets.token_urlsafe(32)
        self._tickets[made] = path
        asyncio.get_running_loop().call_later(_TICKET, self._tickets.pop, made, None)
        return f"/open/{made}"

    def used(self, ticket: str) -> str | None:
        """Where a ticket leads, which is used with this; None for any other text."""
        return self._tickets.pop(ticket, None)


def application(shown: ServedPages, token: str) -> ASGIApp:
    """The pages of ``shown``, below ``/TOKEN``."""
    doors = _PageDoors(shown, f"/{token}")
    routes = [
        Route("/", doors.jobs),
        Route("/job/{job:path}", doors.job),
        Route("/file/{number:int}", doors.file),
        Route("/frame", doors.frame),
        Route("/page", doors.list_inside),
        Route("/page/{job:path}", doors.job_inside),
        Route("/watch/{number:int}", doors.watch),
        Route("/follow", doors.follow_list),
        Route("/follow/{job:path}", doors.follow),
        Route("/static/{name}", doors.static),
    ]
    app = Starlette(routes=routes, exception_handlers={404: _nothing, 405: _nothing, Exception: _fault})
    return TrustedHostMiddleware(_TokenGuard(app, shown, token), allowed_hosts=list(HOSTS), www_redirect=False)


class _TokenGuard:
    """Lets only those pass whose address has the token, or a ticket that nobody has used."""

    def __init__(self, app: ASGIApp, shown: ServedPages, token: str) -> None:
        self._app, self._shown, self._token = app, shown, token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        first, _, rest = scope["path"].removeprefix("/").partition("/")
        if hmac.compare_digest(first.encode("utf-8", "surrogateescape"), self._token):
            await self._app({**scope, "path": f"/{rest}"}, receive, send)
            return
        path = self._shown.used(rest) if first == "open" else None
        app: ASGIApp = _refused() if path is None else RedirectResponse(path, 303, sealed("default-src 'none'"))
        await app(scope, receive, send)


class _PageDoors:
    def __init__(self, shown: ServedPages, root: str) -> None:
        self._shown, self._root = shown, root

    async def jobs(self, request: Request) -> Response:
        """The newest jobs."""
        del request
        return job_page(self._root, None)

    async def job(self, request: Request) -> Response:
        """A job."""
        return job_page(self._root, request.path_params["job"])

    async def file(self, request: Request) -> Response:
        """A file with its drawing."""
        file = self._shown.files.get(request.path_params["number"])
        return _gone() if file is None else file_page(self._root, request.path_params["number"], file.name)

    async def frame(self, request: Request) -> Response:
        """What draws, to be in a frame of the page of a file."""
        del request
        return frame_page(self._root)

    async def list_inside(self, request: Request) -> Response:
        """The newest jobs, to be in a frame."""
        del request
        return await _inside(self._shown.journal.list(self._root))

    async def job_inside(self, request: Request) -> Response:
        """A job, to be in a frame."""
        return await _inside(self._shown.journal.page(request.path_params["job"]))

    async def static(self, request: Request) -> Response:
        """A script or a style."""
        name = request.path_params["name"]
        if name not in _PACKED:
            return _gone()
        headers = {
            "Content-Encoding": "gzip",
            "Cache-Control": "private, max-age=3600",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
        return Response(_packed(name), headers=headers, media_type=_TYPES[name[name.rindex(".") :]])

    async def watch(self, request: Request) -> Response:
        """What becomes of a file and of its runs, as events."""
        file = self._shown.files.get(request.path_params["number"])
        if file is None:
            return _gone()
        given = request.query_params.get("diagram", "1")
        diagram = int(given) if given.isdecimal() and len(given) < 6 else 1
        return _stream(_file_events(self._shown, file, diagram))

    async def follow_list(self, request: Request) -> Response:
        """The list of jobs whenever it has changed, as events."""
        del request
        return _stream(_page_events(self._shown, lambda: self._shown.journal.list(self._root)))

    async def follow(self, request: Request) -> Response:
        """The page of a job whenever it has changed, as events."""
        job = request.path_params["job"]
        return _stream(_page_events(self._shown, lambda: self._shown.journal.page(job)))


async def _file_events(shown: ServedPages, file: ShownFile, diagram: int) -> AsyncIterator[str]:
    """``graph``, or ``problem`` where there is none; and ``runs`` with the newest runs of the file."""
    version, told, known, look, said = 0, "", None, 0.0, time.monotonic()
    while not shown.over.is_set():
        if file.version != version:
            version = file.version
            try:
                yield _event("graph", {**await file.graph(diagram), "asDrawn": False})
            except NothingToShowError as problem:
                yield _event("problem", plain(str(problem)))
            said = time.monotonic()
        name = file.in_journal(diagram)
        if name is not None and time.monotonic() >= look:
            began = time.monotonic()
            try:
                runs = await shown.journal.runs(name, known)
            except RunFailure as problem:
                runs = {"runs": [], "picture": None, "problem": plain(str(problem))}
            look = time.monotonic() + max(_RUNS_EVERY, _SHARE * (time.monotonic() - began))
            words = json.dumps(runs)
            if words != told:
                told, said = words, time.monotonic()
                yield _event("runs", runs)
            if runs["picture"] is not None:
                known = (runs["picture"]["run"], runs["picture"]["status"])
        if time.monotonic() - said > _QUIET:
            said = time.monotonic()
            yield ": still there\n\n"
        await _either(
            shown.over,
            file.changed(version, max(0.05, min(_QUIET, (look or _QUIET + time.monotonic()) - time.monotonic()))),
        )


async def _page_events(shown: ServedPages, made: Callable[[], Coroutine[Any, Any, JobPage]]) -> AsyncIterator[str]:
    """``page`` with its HTML whenever that is another one, and ``over`` at the end."""
    told, said = "", time.monotonic()
    while not shown.over.is_set():
        began = time.monotonic()
        try:
            page = await made()
        except RunFailure as problem:
            yield _event("problem", plain(str(problem)))
            return
        if page.html != told:
            told, said = page.html, time.monotonic()
            yield _event("page", page.html)
        if not page.goes_on:
            yield _event("over", None)
            return
        if time.monotonic() - said > _QUIET:
            said = time.monotonic()
            yield ": still there\n\n"
        await _either(shown.over, asyncio.sleep(max(_PAGE_EVERY, _SHARE * (time.monotonic() - began))))


async def _either(over: asyncio.Event, other: Coroutine[Any, Any, None]) -> None:
    """Wait for the one or the other."""
    both = [asyncio.ensure_future(over.wait()), asyncio.ensure_future(other)]
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in both:
            one.cancel()


def _event(name: str, data: object) -> str:
    # Escaped, so that any text can be sent, half characters and ends of lines included.
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


def _stream(events: AsyncIterator[str]) -> Response:
    headers: Mapping[str, str] = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return StreamingResponse(events, media_type=_EVENTS, headers=headers)


async def _inside(made: Coroutine[Any, Any, JobPage]) -> Response:
    try:
        html = (await made).html
    except RunFailure as problem:
        return PlainTextResponse(plain(str(problem)), 500, sealed("default-src 'none'; frame-ancestors 'self'"))
    data = html.encode("utf-8", "replace")
    return Response(data, headers=sealed(_IN_FRAME), media_type="text/html; charset=utf-8")


@cache
def _packed(name: str) -> bytes:
    folder = "merrow_server.drawing"
    return files(folder).joinpath(f"{name}.gz").read_bytes()


def _refused() -> Response:
    words = (
        "Open the whole address that was printed: without the token in it there is nothing here, and a link that opens a page"
        " works once.\n"
    )
    # Whoever has no token keeps no connection: there are only so many.
    return PlainTextResponse(words, 403, {**sealed("default-src 'none'"), "Connection": "close"})


def _gone() -> Response:
    return PlainTextResponse("There is nothing here.\n", 404, sealed("default-src 'none'"))


async def _nothing(request: Request, problem: Exception) -> Response:
    del request, problem
    return _gone()


async def _fault(request: Request, problem: Exception) -> Response:
    del request
    words = f"Merrow failed: {type(problem).__name__}: {plain(str(problem))}\n"
    return PlainTextResponse(words, 500, sealed("default-src 'none'"))
