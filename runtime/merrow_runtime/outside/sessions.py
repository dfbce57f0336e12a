"""Sessions with servers of tools: one for each server, begun when it is first used and ended with the caller."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Self

import httpx2
from mcp import MCPError, types
from mcp.client import Client
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from merrow_analysis.visible import plain
from merrow_runtime.calls.tool_servers import FIRST_LEG, AsksMeanwhile
from merrow_runtime.errors import StaleStateFailure, ToolFailure
from merrow_runtime.models.redaction import quoted, redacted
from merrow_runtime.models.tool_servers import ToolServer, shown_name
from merrow_runtime.outside.http import HttpServer
from merrow_runtime.outside.results import ServerResult, plain_result
from merrow_runtime.outside.starting import transport_of
from merrow_runtime.outside.stdio import Program
from merrow_runtime.outside.traffic import Incoming, MessageTraffic, Outgoing
from merrow_runtime.requests import ToolLeg, ToolQuestion, ToolQuestions

if TYPE_CHECKING:
    from mcp.client.session import ClientRequestContext

MOST_PAGES = 100
MOST_TOOLS = 1_000
_SENDING_SECONDS = 10.0
MOST_ASKED = 100
"""How many times its `timeout` an older server may take for a call while people are asked."""
MOST_QUESTIONS = 20
"""What a server may ask at once."""
LARGEST_STATE = 200_000
"""Characters of the state with which a server wants to be called again."""
_TOLD_LINES, _TOLD_CHARACTERS = 20, 4_000
_RESULT: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)

for _logger in ("mcp", "client"):
    # They would print what servers send, as it is; what a person must know is said in sentences.
    logging.getLogger(_logger).setLevel(logging.CRITICAL + 1)


def _version() -> str:
    """Merrow's own; an editor's copy is no installed package and has none."""
    try:
        return version("merrow")
    except PackageNotFoundError:
        return "unknown"


class Sessions:
    """The sessions of one caller, as an async context manager: at its end all servers are gone. ``environment`` is where
    variables come from, ``proxy`` is as in the user's settings. All servers hear that they may ask people, also where nobody is
    there: some list other tools otherwise, which then differ from their pins.
    """

    def __init__(
        self,
        environment: Mapping[str, str] = os.environ,
        proxy: str | bool | None = None,
    ) -> None:
        self._environment, self._proxy = environment, proxy
        self._sessions: dict[ToolServer, _ServerSession] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        closing = [asyncio.ensure_future(session.close()) for session in self._sessions.values()]
        if closing:
            await asyncio.shield(asyncio.gather(*closing, return_exceptions=True))

    async def tools(self, server: ToolServer) -> list[dict[str, Any]]:
        """The tools that a server lists, with what can be pinned of each: ``name``, ``title``, ``description``,
        ``inputSchema``, ``outputSchema`` and ``annotations``. It is asked once, and again after it has said that they changed.
        Raises `ToolFailure`.
        """
        return await self._of(server).tools()

    async def call(
        self,
        server: ToolServer,
        tool: str,
        arguments: Mapping[str, Any],
        leg: ToolLeg = FIRST_LEG,
        asks: AsksMeanwhile | None = None,
    ) -> ServerResult | ToolQuestions:
        """Call a tool; ``leg`` and ``asks`` as in `merrow_runtime.calls.tool_servers.ToolServers.call`. A tool that failed is a
        result; raises `ToolFailure` where there is none.
        """
        return await self._of(server).call(tool, arguments, leg, asks)

    def _of(self, server: ToolServer) -> _ServerSession:
        session = self._sessions.get(server)
        if session is None or session.is_over:
            session = self._sessions[server] = _ServerSession(server, self._environment, self._proxy)
        return session


class _ServerSession:
    def __init__(self, server: ToolServer, environment: Mapping[str, str], proxy: str | bool | None) -> None:
        self._server, self._environment, self._proxy = server, environment, proxy
        self._in_flight: list[_InFlight] = []
        self._fewer = asyncio.Condition()
        """Told whenever fewer calls are in flight, or fewer questions wait for that."""
        self._has_asked = False
        self._held = 0
        """Questions of which it is not known yet which call they belong to."""
        self._secrets = [value for name in server.variables if (value := environment.get(name))]
        self._opening = asyncio.Lock()
        self._closing = asyncio.Event()
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None
        self._reason: str | None = None
        self._transport: Program | HttpServer | None = None
        self._listing = asyncio.Lock()
        self._tools: list[dict[str, Any]] | None = None
        self._changes = self._listed_at = 0
        """How often the server has said that its tools changed, and had when it was asked for them."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended, or is about to."""
        return self._closing.is_set() or (self._task is not None and self._task.done())

    async def close(self) -> None:
        """End the session and its server, and wait until both are gone."""
        self._closing.set()
        if self._task is not None:
            if not self._ready.done():
                self._task.cancel()  # It may wait for a server that never greets.
            await asyncio.wait({self._task})

    async def tools(self) -> list[dict[str, Any]]:
        async with self._listing:
            if self._tools is None or self._listed_at != self._changes:
                self._listed_at = self._changes  # What changes meanwhile is asked for again.
                self._tools = await self._asked(self._listed())
            return self._tools

    async def _listed(self) -> list[dict[str, Any]]:
        client = await self._client()
        found: dict[str, dict[str, Any]] = {}
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            async with self._patience():
                page = await client.session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
            for tool in page.tools:
                if tool.name in found:
                    raise self._failure(f"lists the tool {shown_name(tool.name)} twice")
                found[tool.name] = _described(tool)
            if len(found) > MOST_TOOLS:
                raise self._failure(f"lists more than {MOST_TOOLS:,} tools")
            cursor = page.next_cursor
            if cursor is None:
                return list(found.values())
        raise self._failure(f"lists its tools on more than {MOST_PAGES} pages")

    async def call(
        self, tool: str, arguments: Mapping[str, Any], leg: ToolLeg, asks: AsksMeanwhile | None
    ) -> ServerResult | ToolQuestions:
        # Texts of models may have halves of characters, which servers can't read.
        given = json.loads(json.dumps(dict(arguments), ensure_ascii=False).encode("utf-8", "replace"))
        result = await self._asked(self._called(tool, given, leg, asks))
        if isinstance(result, types.InputRequiredResult):
            return self._questions(result)
        try:
            return plain_result(result, self._server.max_result)
        except (ValueError, RecursionError):
            raise self._failure("answered with values that JSON does not have") from None

    async def _called(
        self, tool: str, arguments: dict[str, Any], leg: ToolLeg, asks: AsksMeanwhile | None
    ) -> types.CallToolResult | types.InputRequiredResult:
        client = await self._client()
        answers: dict[str, Any] = {
            key: types.ElicitResult.model_validate(dict(answer)) for key, answer in leg.answers.items()
        }
        request = types.CallToolRequest(
            params=types.CallToolRequestParams(
                name=tool, arguments=arguments, input_responses=answers or None, request_state=leg.state
            )
        )
        try:
            # Not `call_tool`, which checks the answer against the schema that the server sends, without bounds.
            if asks is None or client.protocol_version in MODERN_PROTOCOL_VERSIONS:
                async with self._patience():
                    return await client.session.send_request(request, _RESULT)
            return await self._while_asked(client, request, asks)
        except MCPError as problem:
            if leg.state is not None and problem.error.code == types.INVALID_PARAMS and not self.is_over:
                sentence = f"The server `{self._server.name}` {self._refusal(problem)}."
                raise StaleStateFailure(sentence, answered=True) from None
            raise

    async def _while_asked(
        self, client: Client, request: types.CallToolRequest, asks: AsksMeanwhile
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Call a tool of an older server, which may ask before it answers. The time of people is not the server's.

        The protocol does not say for which of several calls a server asks. So one that has asked gets one call at a time.
        """
        seconds = self._server.timeout
        async with self._fewer:
            await self._fewer.wait_for(lambda: not (self._has_asked and self._in_flight))
            limit = asyncio.timeout(seconds + _SENDING_SECONDS)
            call = _InFlight(limit, asks)
            self._in_flight.append(call)
        try:
            async with limit:
                return await client.session.send_request(request, _RESULT, MOST_ASKED * seconds)
        except TimeoutError:
            if not limit.expired():
                raise
            raise self._failure(f"did not answer within {seconds:g} seconds") from None
        finally:
            self._in_flight.remove(call)
            await self._tell_fewer()

    async def _tell_fewer(self) -> None:
        async with self._fewer:
            self._fewer.notify_all()

    def _questions(self, result: types.InputRequiredResult) -> ToolQuestions:
        """What a server asks in the place of a result. Raises `ToolFailure`."""
        asked = result.input_requests or {}
        if len(asked) > MOST_QUESTIONS:
            raise self._failure(f"asks more than {MOST_QUESTIONS} questions at once", answered=True)
        if result.request_state is not None and len(result.request_state) > LARGEST_STATE:
            raise self._failure(f"asks with a state of more than {LARGEST_STATE:,} characters", answered=True)
        questions = []
        for key, request in asked.items():
            if not isinstance(request, types.ElicitRequest):
                raise self._failure(f"wants {_WANTS.get(request.method, 'more')}, which is declined", answered=True)
            questions.append(_question(key, request.params))
        return ToolQuestions(questions, result.request_state)

    def _patience(self) -> asyncio.Timeout:
        """For a request. The package's own time-out begins when the request has been sent, and that may take forever."""
        return asyncio.timeout(self._server.timeout + _SENDING_SECONDS)

    async def _asked(self, asking: Awaitable[Any]) -> Any:
        """What a server answers. Raises `ToolFailure` where it doesn't, and when the session has ended it is all gone by then."""
        try:
            return await asking
        except TimeoutError:
            self._end(f"did not take a message within {self._server.timeout:g} seconds")
        except MCPError as problem:
            if not self.is_over and problem.error.code != types.CONNECTION_CLOSED:
                refused = problem.error.code != types.REQUEST_TIMEOUT
                raise self._failure(self._refusal(problem), answered=refused) from None
        except (ValidationError, RuntimeError):
            if not self.is_over:
                raise self._failure("answered with something that is not an answer of the protocol") from None
        await self.close()
        raise self._failure(self._reason or "closed the connection")

    def _refusal(self, problem: MCPError) -> str:
        if problem.error.code == types.REQUEST_TIMEOUT:
            return f"did not answer within {self._server.timeout:g} seconds"
        status = self._transport.status if isinstance(self._transport, HttpServer) else None
        said = quoted(problem.error.message, self._secrets) or "it does not say why"
        return f"refused: {said}" if status is None else f"refused with HTTP status {status}: {said}"

    async def _client(self) -> Client:
        """The client of the session, which is begun where it has not been."""
        async with self._opening:
            if self._task is None:
                self._transport = transport_of(self._server, self._environment, self._proxy, self._end)
                self._task = asyncio.create_task(self._run(self._transport))
                either: set[asyncio.Future[Any]] = {self._task, self._ready}
                await asyncio.wait(either, timeout=self._server.timeout, return_when=asyncio.FIRST_COMPLETED)
                if not self._ready.done() and not self._task.done():
                    self._end(f"did not start within {self._server.timeout:g} seconds")
        if self.is_over:
            await self.close()
            raise self._failure(self._reason or "closed the connection")
        return self._ready.result()

    async def _run(self, transport: Program | HttpServer) -> None:
        """The session from its beginning to its end, in one task: what the package opens must be closed where it was opened."""
        client = Client(
            self._streams(transport),
            read_timeout_seconds=self._server.timeout,
            message_handler=self._told,
            elicitation_callback=self._elicited,
            client_info=types.Implementation(name="merrow", version=_version()),
            cache=None,
        )
        try:
            async with client, self._hears_of_changes(client):
                self._ready.set_result(client)
                await self._closing.wait()
        except (Exception, asyncio.CancelledError) as problem:  # noqa: BLE001 (also groups: whatever it is, it is the end)
            self._end(self._why(problem))

    @asynccontextmanager
    async def _streams(self, transport: Program | HttpServer) -> AsyncIterator[tuple[Any, Any]]:
        traffic = MessageTraffic(self._end)
        opened: AbstractAsyncContextManager[tuple[Any, Any]] = transport
        async with opened as (incoming, outgoing):
            yield Incoming(incoming, traffic), Outgoing(outgoing, traffic)

    @asynccontextmanager
    async def _hears_of_changes(self, client: Client) -> AsyncIterator[None]:
        """Has a server say that its tools changed, which those of 2026 do only where they are asked to."""
        tools = client.server_capabilities.tools
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or tools is None or not tools.list_changed:
            yield
            return
        async with client.listen(tools_list_changed=True):
            yield  # What it says goes to `_told`, too.

    async def _told(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._changes += 1

    async def _elicited(
        self,
        context: ClientRequestContext,  # noqa: ARG002 (the package names it)
        params: types.ElicitRequestParams,
    ) -> types.ElicitResult:
        """What a person says to a question of an older server. It does not say for which of several calls it asks: the question
        waits until the others have ended. Where they all ask, all questions but one are declined.
        """
        self._has_asked = True
        self._held += 1
        try:
            async with self._fewer:
                await self._fewer.wait_for(lambda: len(self._in_flight) < 2 or self._held >= len(self._in_flight))
        finally:
            self._held -= 1
        if len(self._in_flight) != 1:
            return types.ElicitResult(action="decline")
        (call,) = self._in_flight
        if call.limit.expired():
            return types.ElicitResult(action="decline")
        call.limit.reschedule(None)
        try:
            answer = await call.asks(_question("", params), self._server.timeout)
        finally:
            if call in self._in_flight:
                call.limit.reschedule(asyncio.get_running_loop().time() + self._server.timeout + _SENDING_SECONDS)
        return types.ElicitResult.model_validate(dict(answer))

    def _end(self, reason: str) -> None:
        """Note the first reason why the session ends, and end it."""
        if self._reason is None:
            self._reason = reason
            if isinstance(self._transport, Program):
                self._transport.is_refused = True
        self._closing.set()

    def _why(self, problem: BaseException) -> str:
        """The rest of a sentence about what ended the session, after the server's name."""
        while isinstance(problem, BaseExceptionGroup):
            problem = problem.exceptions[0]
        if isinstance(problem, httpx2.TransportError):
            said = quoted(str(problem), self._secrets) or type(problem).__name__
            return f"can't be reached at {self._server.place}: {said}"
        if isinstance(problem, MCPError) and problem.error.code != types.CONNECTION_CLOSED:
            return self._refusal(problem)
        if isinstance(problem, OSError):
            return f"can't be started: {problem.strerror or type(problem).__name__}"
        if isinstance(problem, (ValidationError, RuntimeError)):
            return "greeted with something that is not an answer of the protocol"
        return "closed the connection"

    def _failure(self, reason: str, *, answered: bool = False) -> ToolFailure:
        told = ""
        if isinstance(self._transport, Program) and self.is_over:
            text = self._transport.stderr.decode("utf-8", "replace")[-_TOLD_CHARACTERS:]
            told = plain(redacted("\n".join(text.strip().splitlines()[-_TOLD_LINES:]), self._secrets))
        return ToolFailure(f"The server `{self._server.name}` {reason}.", told=told, answered=answered)


@dataclass(frozen=True, slots=True, eq=False)
class _InFlight:
    """A call of an older server, and who puts what it asks meanwhile."""

    limit: asyncio.Timeout
    asks: AsksMeanwhile


def _question(key: str, params: types.ElicitRequestParams) -> ToolQuestion:
    if isinstance(params, types.ElicitRequestURLParams):
        return ToolQuestion(key, params.message, url=params.url)
    return ToolQuestion(key, params.message, dict(params.requested_schema))


_WANTS = {
    "sampling/createMessage": "an answer of a model",
    "roots/list": "a list of folders",
}


def _described(tool: types.Tool) -> dict[str, Any]:
    annotations = tool.annotations and tool.annotations.model_dump(mode="json", by_alias=True, exclude_none=True)
    said = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": annotations,
    }
    return {key: value for key, value in said.items() if value is not None}
