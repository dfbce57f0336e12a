"""The doors of a served workflow: HTTP with JSON and server-sent events, and the Model Context Protocol, behind one token."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from mcp.server.lowlevel import Server
from starlette.datastructures import Headers
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from merrow_runtime.events import LAST, Event
from merrow_runtime.running.run import Run
from merrow_server.service.interface import openapi, title_of
from merrow_server.service.listening import HOSTS
from merrow_server.service.page import PATH, people_page
from merrow_server.service.questions import SentAnswer
from merrow_server.service.runs import RequestRefusedError, ServedRuns, of_result
from merrow_server.service.tool import WorkflowTool

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

LARGEST_BODY = 10_000_000
"""Bytes of a request."""
_QUIET = 10.0
"""Seconds after which a stream of events says that it is still there."""
_IDLE_SESSION = 600.0
"""Seconds after which a session of the Model Context Protocol ends that no request came in; its client begins another one."""
_MOST_SESSIONS = 1_000
_MOST_DIGITS = 18
"""Digits of the number of an event; Python reads no number of thousands of them."""
_STATUS = {"finished": 200, "waiting": 202, "failed": 500, "cancelled": 503}
_EVENTS = "text/event-stream"


def application(runs: ServedRuns, token: str, address: str) -> ASGIApp:
    """The service at ``address``; each request must bring the token."""
    doors = _Doors(runs, address)
    routes = [
        Route("/openapi.json", doors.openapi, methods=["GET"]),
        Route(PATH, doors.people, methods=["GET"]),
        Route("/runs", doors.runs, methods=["GET"]),
        Route("/runs", doors.begin, methods=["POST"]),
        Route("/runs/{run}", doors.run, methods=["GET", "DELETE"]),
        Route("/runs/{run}/answers", doors.answer, methods=["POST"]),
        Route("/runs/{run}/events", doors.events, methods=["GET"]),
    ]
    tool = WorkflowTool(runs)
    server: Server[dict[str, Any]] = Server(
        "merrow", instructions=title_of(runs.workflow), on_list_tools=tool.list, on_call_tool=tool.call
    )
    app = server.streamable_http_app(
        # With sessions: a message that cancels a call must reach it.
        session_idle_timeout=_IDLE_SESSION,
        max_sessions=_MOST_SESSIONS,
        max_request_body_size=LARGEST_BODY,
        custom_starlette_routes=routes,
    )
    app.add_exception_handler(RequestRefusedError, _refused)
    app.add_exception_handler(404, _nothing_there)
    app.add_exception_handler(405, _nothing_there)
    app.add_exception_handler(Exception, _fault)
    return _Guard(TrustedHostMiddleware(app, allowed_hosts=list(HOSTS), www_redirect=False), token)


class _Guard:
    """Lets only those pass who have the token, but for the page that has nothing to hide."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http" and (scope["method"], scope["path"]) != ("GET", PATH):
            kind, _, given = Headers(scope=scope).get("authorization", "").partition(" ")
            fits = hmac.compare_digest(given.strip().encode("utf-8", "surrogateescape"), self._token)
            if kind.lower() != "bearer" or not fits:
                app = _json(
                    {"error": "Send the token that merrow up printed: Authorization: Bearer TOKEN"},
                    401,
                    # Whoever has no token keeps no connection: there are only so many.
                    {"WWW-Authenticate": "Bearer", "Connection": "close"},
                )
        await app(scope, receive, send)


class _Doors:
    def __init__(self, runs: ServedRuns, address: str) -> None:
        self._runs, self._address = runs, address

    async def openapi(self, request: Request) -> Response:
        """What the service takes and gives."""
        del request
        return _json(openapi(self._runs.workflow, self._address))

    async def people(self, request: Request) -> Response:
        """The page on which people answer."""
        del request
        return people_page()

    async def runs(self, request: Request) -> Response:
        """The runs that wait for people."""
        del request
        return _json({"runs": self._runs.waiting()})

    async def begin(self, request: Request) -> Response:
        """Begin a run; its result, or with the headers that ask for it its events, or its id alone."""
        inputs = await _object(request, 'with the inputs, as {"PROBLEM": "..."}')
        run = self._runs.begin(inputs, request.headers.get("idempotency-key"))
        where = {"Location": f"/runs/{run.id}"}
        if _EVENTS in request.headers.get("accept", ""):
            return StreamingResponse(_told(run, 0), media_type=_EVENTS, headers=where)
        if "respond-async" in request.headers.get("prefer", ""):
            return _json(self._runs.record(run.id), 202, where)
        result = await run.result()
        return _json(of_result(result), _STATUS[result.status], where)

    async def run(self, request: Request) -> Response:
        """A run as it is now; with DELETE it is stopped first."""
        id_ = request.path_params["run"]
        return _json(await self._runs.stop(id_) if request.method == "DELETE" else self._runs.record(id_))

    async def answer(self, request: Request) -> Response:
        """Answer a question of a run; how the run stands when it has come to its end or waits again, or with the header that asks
        for it at once.
        """
        id_ = request.path_params["run"]
        body = await _object(request, 'as {"node": "APPROVE", "value": "yes"}')
        try:
            sent = SentAnswer.read(body)
        except ValueError as problem:
            raise RequestRefusedError(400, str(problem)) from None
        self._runs.answer(id_, sent)
        continued = self._runs.continued(id_)
        where = {"Location": f"/runs/{id_}"}
        if "respond-async" in request.headers.get("prefer", ""):
            return _json(self._runs.record(id_), 202, where)
        shown = await asyncio.shield(continued)
        return _json(shown, _STATUS.get(shown["status"], 202), where)

    async def events(self, request: Request) -> Response:
        """The events of a run from the beginning, or after the one that the client had last."""
        run = self._runs.told(request.path_params["run"])
        last = request.headers.get("last-event-id", "0")
        return StreamingResponse(
            _told(run, int(last) if last.isdecimal() and len(last) <= _MOST_DIGITS else 0), media_type=_EVENTS
        )


async def _object(request: Request, how: str) -> dict[str, Any]:
    """The JSON object that a request has; ``how`` says what it must be like. Raises `RequestRefusedError`."""
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > LARGEST_BODY:
            raise RequestRefusedError(
                413, f"The request is too large: at most {LARGEST_BODY // 1_000_000} MB are read."
            )
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise RequestRefusedError(400, f"The request must be a JSON object {how}.")
    return body


async def _told(run: Run, after: int) -> AsyncIterator[str]:
    """The events of a run as server-sent events."""
    reading = aiter(run.events())
    waiting: asyncio.Task[Event] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(anext(reading))
            done, _ = await asyncio.wait([waiting], timeout=_QUIET)
            if not done:
                yield ": still there\n\n"
                continue
            event, waiting = waiting.result(), None
            if event.number > after:
                yield f"id: {event.number}\nevent: {event.event}\ndata: {json.dumps(event.to_json())}\n\n"
            if event.event in LAST:
                return
    finally:
        if waiting is not None:
            waiting.cancel()


def _json(shown: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    # Escaped, so that any text a model gave can be sent, half characters included.
    return Response(json.dumps(shown) + "\n", status, headers, "application/json")


async def _refused(request: Request, problem: Exception) -> Response:
    del request
    status = problem.status if isinstance(problem, RequestRefusedError) else 400
    by = problem.by if isinstance(problem, RequestRefusedError) else None
    shown = {"error": str(problem)} if by is None else {"error": str(problem), "by": by}
    return _json(shown, status, {"Retry-After": "5"} if status in (429, 503) else None)


async def _nothing_there(request: Request, problem: Exception) -> Response:
    return _json(
        {"error": f"There is no {request.method} {request.url.path} here; /openapi.json says what there is."},
        getattr(problem, "status_code", 404),
    )


async def _fault(request: Request, problem: Exception) -> Response:
    del request
    return _json({"error": f"Merrow failed: {type(problem).__name__}: {problem}"}, 500)
