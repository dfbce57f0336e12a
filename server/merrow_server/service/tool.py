"""A served workflow as the one tool of a server of the Model Context Protocol. What people are asked in its runs, the client asks
its user, in the form of an elicitation.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from mcp import MCPError, types

from merrow_runtime.running.run import Run
from merrow_runtime.store.contract import AskRecord
from merrow_server.service.interface import inputs_schema, name_of, outputs_schema, title_of
from merrow_server.service.questions import SentAnswer, question_text, waiting_text
from merrow_server.service.runs import RequestRefusedError, ServedRuns, of_result
from merrow_server.service.states import RunStates

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

_ANSWERED_AGAIN = "2026-07-28"
"""The first version of the protocol, all of which are dates, where a call gives questions and is made again with the answers."""
_MOST_FORMS = 16
"""Questions that a client is asked at the same time."""
_MOST_TRIES = 10
"""Answers that don't fit, after which a client is not asked the same question again in one call."""
_UNFIT = 422
_TOO_LATE = (404, 409, 410)
"""How an answer is refused that does not fit, and one to a question that is not open any more."""
_LOOK = 0.5
"""Seconds between looks at whether a question that a client's user sees is still open."""

_Shown = dict[str, Any]


class WorkflowTool:
    """The tool. Raises `StoreFailure` where it can't keep a key."""

    def __init__(self, runs: ServedRuns) -> None:
        self._runs = runs
        workflow = runs.workflow
        self._states = RunStates(str(workflow.name))
        self._tool = types.Tool(
            name=name_of(workflow),
            description=title_of(workflow),
            input_schema=inputs_schema(workflow),
            output_schema=outputs_schema(workflow),
        )

    async def list(
        self, context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """The tool."""
        del context, params
        return types.ListToolsResult(tools=[self._tool])

    async def call(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """A run of the workflow, or with the state of one that waits, what follows from the answers to its questions. Each node
        that ends is told as progress. A call that is cancelled stops its run, unless that waits for a person.
        """
        if params.name != self._tool.name:
            return _wrong(f"There is no tool {params.name}; the one here is {self._tool.name}.")
        try:
            if params.request_state is not None:
                return await self._answered(context, params.request_state, params.input_responses or {})
            run = self._runs.begin(params.arguments or {})
            try:
                await _followed(context, run)
                shown = of_result(await run.result())
            except asyncio.CancelledError:
                run.cancel()
                raise
            return await self._told(context, shown)
        except RequestRefusedError as problem:
            return _wrong(str(problem))

    async def _answered(
        self, context: ServerRequestContext[Any], state: str, responses: types.InputResponses
    ) -> types.CallToolResult | types.InputRequiredResult:
        """What follows from the answers of the client's user."""
        run = self._states.run(state)
        if run is None:
            return _wrong("This request state is not one of this service and workflow; call the tool without it.")
        put_off: set[str] = set()
        problems: dict[str, str] = {}
        asked = {ask.visit.name for ask in self._runs.questions(run)}
        for name, response in responses.items():
            if name not in asked or not isinstance(response, types.ElicitResult):
                continue  # Somebody else was faster, or it was never asked.
            if response.action == "cancel":
                put_off.add(name)
            elif problem := self._taken(run, name, response):
                problems[name] = problem
        return await self._told(context, await self._gone_on(context, run), put_off, problems)

    async def _told(
        self,
        context: ServerRequestContext[Any],
        shown: _Shown,
        put_off: Collection[str] = (),
        problems: _Shown | None = None,
    ) -> types.CallToolResult | types.InputRequiredResult:
        """How a run stands: its result, or what it asks, where the client can ask that its user, but for what they put off."""
        if shown["status"] != "waiting" or "error" in shown:
            return _result(shown)
        run = shown["run"]
        if not _can_ask(context):
            return self._waits(run)
        if context.protocol_version < _ANSWERED_AGAIN:
            return await self._asked_within(context, run)
        asks = [ask for ask in self._runs.questions(run) if ask.visit.name not in put_off][:_MOST_FORMS]
        if not asks:
            return self._waits(run)
        requests: types.InputRequests = {
            ask.visit.name: types.ElicitRequest(params=_form(ask, (problems or {}).get(ask.visit.name, "")))
            for ask in asks
        }
        return types.InputRequiredResult(input_requests=requests, request_state=self._states.sealed(run))

    async def _asked_within(self, context: ServerRequestContext[Any], run: str) -> types.CallToolResult:
        """Ask the client's user all that a run asks within this call, as clients of earlier versions of the protocol want it."""
        put_off: set[int] = set()
        tries: Counter[int] = Counter()
        problem = ""
        while True:
            ask = next((ask for ask in self._runs.questions(run) if ask.number not in put_off), None)
            if ask is None:
                shown = await self._gone_on(context, run)
                if shown["status"] != "waiting" or "error" in shown:
                    return _result(shown)
                if all(ask.number in put_off for ask in self._runs.questions(run)):
                    return self._waits(run)
                continue
            response = await self._elicited(context, run, ask, problem)
            tries[ask.number] += 1
            problem = (
                "" if response is None or response.action == "cancel" else self._taken(run, ask.visit.name, response)
            )
            if response is None or response.action == "cancel" or (problem and tries[ask.number] == _MOST_TRIES):
                put_off.add(ask.number)
                problem = ""

    async def _elicited(
        self, context: ServerRequestContext[Any], run: str, ask: AskRecord, problem: str
    ) -> types.ElicitResult | None:
        """What the client's user says to a question; None where the client can't ask it, or it is closed before they say
        anything.
        """
        form = _form(ask, problem)
        asking = asyncio.create_task(
            context.session.elicit_form(form.message, form.requested_schema, context.request_id), name=f"form {run}"
        )
        try:
            while not asking.done():
                await asyncio.wait([asking], timeout=_LOOK)
                if not asking.done() and all(other.number != ask.number for other in self._runs.questions(run)):
                    return None
            return asking.result()
        except (MCPError, ValueError):  # what the client sent is no answer of the protocol
            return None
        finally:
            asking.cancel()

    def _taken(self, run: str, name: str, response: types.ElicitResult) -> str:
        """Answer a question with what the client's user said; what is wrong with that, empty where nothing is, or where somebody
        was faster. Raises `RequestRefusedError` where nothing can be answered now.
        """
        given = (response.content or {}) if response.action == "accept" else None
        try:
            self._runs.answer(run, SentAnswer(name, None, given))
        except RequestRefusedError as problem:
            if problem.status == _UNFIT:
                return str(problem)
            if problem.status not in _TOO_LATE:
                raise
        return ""

    async def _gone_on(self, context: ServerRequestContext[Any], run: str) -> _Shown:
        """How a run stands when it has used its answers. A call that is cancelled meanwhile stops it."""
        part: Run | None = None

        async def follow(begun: Run) -> None:
            nonlocal part
            part = begun
            await _followed(context, begun)

        try:
            return await asyncio.shield(self._runs.continued(run, follow))
        except asyncio.CancelledError:
            if part is not None:
                part.cancel()
            raise

    def _waits(self, run: str) -> types.CallToolResult:
        return types.CallToolResult(
            content=[types.TextContent(text=waiting_text(run, self._runs.questions(run)))],
            is_error=True,  # It is not the result that the tool's schema promises.
            _meta={"run": run},
        )


def _can_ask(context: ServerRequestContext[Any]) -> bool:
    """Whether the client shows its user forms."""
    capabilities = context.session.client_capabilities
    asks = None if capabilities is None else capabilities.elicitation
    return asks is not None and (asks.form is not None or asks.url is None)


def _form(ask: AskRecord, problem: str) -> types.ElicitRequestFormParams:
    # Half characters, which a text to edit may have, can't be sent.
    schema = json.dumps(ask.question.get("schema", {}), ensure_ascii=False).encode("utf-8", "replace")
    message = question_text(ask, problem).encode("utf-8", "replace").decode()
    return types.ElicitRequestFormParams(message=message, requested_schema=json.loads(schema))


async def _followed(context: ServerRequestContext[Any], run: Run) -> None:
    """Tell each node that ends as progress, until the run does."""
    number = 0
    async for event in run.events():
        if event.event in ("node_finished", "node_reused"):
            number += 1
            await context.session.report_progress(number, None, event.node)


def _result(shown: _Shown) -> types.CallToolResult:
    if shown["status"] != "finished":
        how = shown.get("error") or "It was stopped."
        return _wrong(f"{how} What is finished is kept: merrow resume {shown['run']}")
    return types.CallToolResult(
        content=[types.TextContent(text=json.dumps(shown["outputs"], ensure_ascii=True))],
        structured_content=shown["outputs"],
        _meta={"run": shown["run"], "usage": shown["usage"], "exhausted": shown["exhausted"]},
    )


def _wrong(sentence: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=sentence)], is_error=True)
