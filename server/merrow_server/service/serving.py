"""The process that serves a workflow: opened, told about, and ended without losing what its runs have finished."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import PurePath
from types import FrameType
from typing import Any

import uvicorn

from merrow_runtime.errors import RunFailure
from merrow_runtime.operators.formats.shapes import placeholder, shape_of
from merrow_runtime.options import RunOptions
from merrow_runtime.outside.user_servers import UserServers
from merrow_runtime.program.definitions import asks_people, meanings_of
from merrow_runtime.program.inputs import type_of_input
from merrow_runtime.provenance import OFFLINE_ORIGIN, named
from merrow_runtime.running.forecast import dry_run
from merrow_runtime.running.forecast_figures import Forecast
from merrow_runtime.running.only_model import with_only_model
from merrow_runtime.running.resources import ChosenEndpoint, choose
from merrow_runtime.running.tool_checks import check_tools
from merrow_runtime.store.database import Store
from merrow_runtime.workflow import Workflow
from merrow_server.errors import InputError
from merrow_server.rendering.forecast_text import bounds_text, cost_text
from merrow_server.service.http import application
from merrow_server.service.interface import name_of
from merrow_server.service.listening import configured, listening, quiet
from merrow_server.service.page import PATH
from merrow_server.service.runs import ServedRuns

TOKEN = "MERROW_UP_TOKEN"  # noqa: S105 (the name of a variable)
"""The environment variable that has the token, where whoever starts the service chooses it."""
_SHORTEST_TOKEN = 16
_LAST_WORDS = 5
"""Seconds in which clients may take what is sent to them at the end."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """``most_runs`` at the same time; ``total_usd`` US dollars, after which no further run begins; ``grace`` seconds that runs
    have to end in when the service is stopped.
    """

    most_runs: int
    total_usd: float
    grace: float


def serve(workflow: Workflow, options: RunOptions, port: int, limits: ServiceLimits, say: Say) -> int:
    """Serve a workflow on a port of this machine (0: any free one) until a signal ends it; the number of that. ``say`` tells the
    user a line. Raises `InputError` where it can't begin.
    """
    token = os.environ.get(TOKEN)
    if token is not None and (
        len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token
    ):
        raise InputError(
            f"The token in {TOKEN} must have {_SHORTEST_TOKEN} or more letters, digits and signs, and no spaces."
        )
    quiet("uvicorn", "mcp", "sse_starlette", "asyncio")
    with listening(port) as listener:
        return asyncio.run(_serve(workflow, options, listener, token, limits, say))


async def _serve(
    workflow: Workflow, options: RunOptions, listener: socket.socket, token: str | None, limits: ServiceLimits, say: Say
) -> int:
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with closing(Store.open()) as store:
        chosen = choose(options, options.base_url, workflow.machine, store.dialects)
        chosen = with_only_model(chosen, options, workflow.reached())
        tools = UserServers(chosen.key)
        try:
            check_tools(workflow, options, tools, unattended=False)
            runs = ServedRuns(workflow, options, chosen, store, tools, most=limits.most_runs, usd=limits.total_usd)
            for line in _about(workflow, options, chosen, address, limits):
                say(line)
            if token is None:
                token = secrets.token_urlsafe(32)
                say(f"Token: {token} (send it as Authorization: Bearer TOKEN; {TOKEN} sets another)")
            say("Stop it with Ctrl-C.")
            server = _Server(application(runs, token, address), runs, limits.grace, say)
            await server.serve(sockets=[listener])
            runs.cancel()
            await runs.ended()
            return server.ended_by
        finally:
            await chosen.endpoint.close()
            await tools.close()


class _Server(uvicorn.Server):
    """A server that, asked to end, takes no more requests and lets runs end; asked again, or when ``grace`` seconds are over, it
    stops them.
    """

    def __init__(self, app: Any, runs: ServedRuns, grace: float, say: Say) -> None:
        super().__init__(configured(app, int(grace) + _LAST_WORDS))
        self._runs, self._grace, self._say = runs, grace, say
        self.ended_by = self._signals = 0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal arrived."""
        del frame
        self._signals += 1
        if self._signals > 1:  # the runs are stopped now: one more ends the process, whatever it computes
            signal.signal(sig, signal.SIG_DFL)
        asyncio.get_running_loop().call_soon_threadsafe(self._end, sig)

    def _end(self, number: int) -> None:
        runs = self._runs
        if self.should_exit:
            self._stop()
            return
        self.ended_by, self.should_exit = number, True
        runs.close()
        going = len(runs.going)
        if going:
            some = "1 run is" if going == 1 else f"{going} runs are"
            self._say(f"{some} under way and may end, in {self._grace:g} seconds at most; Ctrl-C again stops at once.")
            asyncio.get_running_loop().call_later(self._grace, self._stop)

    def _stop(self) -> None:
        for id_ in self._runs.going:
            self._say(f"Run {id_} is stopped; what is finished is kept. Continue it with: merrow resume {id_}")
        self._runs.cancel()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End, once the runs have."""
        for server in self.servers:
            server.close()
        await self._runs.ended()
        await super().shutdown(sockets)


def _about(
    workflow: Workflow, options: RunOptions, chosen: ChosenEndpoint, address: str, limits: ServiceLimits
) -> Iterator[str]:
    """What is served where, and what a run costs."""
    yield from workflow.how_read
    yield from chosen.notices
    yield f"{PurePath(workflow.name).name} is served at {address}, to programs on this machine alone."
    yield "  POST /runs     a run with the inputs in the body, as JSON"
    if asks_people(workflow):
        yield "  POST /runs/ID/answers  the answer to a question that a run asks people"
        yield f"  {PATH}#TOKEN    a page to answer on, in a browser"
    yield "  /openapi.json  what it takes and gives"
    yield f"  /mcp           the tool {name_of(workflow)}, for the Model Context Protocol"
    forecast = _forecast(workflow, options, chosen)
    if forecast is not None:
        cost = cost_text(forecast.cost_usd, is_open=any(node.why_open is not None for node in forecast.nodes))
        tokens = bounds_text(forecast.tokens, about=True)
        yield f"Calls of a run: {bounds_text(forecast.calls)}; tokens: {tokens}; cost: {cost}."
        if forecast.cost_usd.most is None:
            yield "Where a price is not known, --total-usd can't hold; limit each run with --budget-tokens."
    if chosen.endpoint.origin == OFFLINE_ORIGIN:
        yield "The embedded offline model answers, which costs nothing and is not a real model."
    else:
        yield f"{named(chosen.endpoint.origin)} answers."
    yield (
        f"At most {limits.most_runs} runs at a time; no further one once they have cost ${limits.total_usd:g}. Each is in the"
        " journal: merrow runs"
    )


def _forecast(workflow: Workflow, options: RunOptions, chosen: ChosenEndpoint) -> Forecast | None:
    inputs = {}
    for node in workflow.graph.inputs:
        type_ = type_of_input(node)
        inputs[node.id] = placeholder(shape_of(type_, *meanings_of([type_], workflow.graph.types)), node.id)
    try:
        return dry_run(workflow, inputs, options=options, endpoint=chosen.endpoint)
    except RunFailure:
        return None
