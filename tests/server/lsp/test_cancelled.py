"""Jobs are cancelled in whichever state they are, through every door, whatever their kind: nothing is asked after that.

One table: states (before it is open, while the user is asked to agree, while a model answers) x doors (its request, the button
of its progress, its id, its document, all, another process, the end of the server) x kinds. Each test walks through the kinds in
one server, beginning with another one, which finds the server cold.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from tests.runtime.openai_server import Hang, OpenAIServer, Reply
from tests.server.lsp.editor import MODERN
from tests.server.lsp.running import WAIT, RunningEditor, editor_on
from tests.server.reproducing import tiny_data
from tests.server.searching import SINGLE

CASES = "cases:\n  - id: one\n    inputs: {PROBLEM: What is 1?}\n    expect: {contains: x}\n"
LATER = "This is asked afterwards: {}."
DATA = {"dataset": "own.jsonl", "gold": "answer", "metric": "exact"}
KINDS: dict[str, dict[str, Any]] = {
    "merrow.run": {"uri": "flow.mmd", "inputs": {"PROBLEM": "What is 1?"}},
    "merrow.evaluate": {"uri": "flow.mmd", **DATA},
    "merrow.optimize": {"uri": "flow.mmd", **DATA, "strategy": "climb", "out": "found"},
    "merrow.plan": {"uri": "flow.mmd", "task": "Make a web page."},
    "merrow.suggest": {"uri": "flow.mmd"},
    "merrow.test": {"uri": "flow.cases.yaml"},
    "merrow.extract": {**DATA, "mapping": {"problem": "problem"}, "solution": "answer", "model": "m"},
    "merrow.reproduce": {
        "paper": "mermaidflow",
        "rows": ["round1-gsm8k"],
        "data": "data",
        "otherData": True,
        "items": 2,
    },
}
"""By command, what is ordered; what has no ``uri`` is of no document."""
AGREED = ("merrow.evaluate", "merrow.optimize", "merrow.plan", "merrow.suggest", "merrow.extract", "merrow.reproduce")
"""Those about which the user is asked."""
LISTED = {
    "merrow.run": ("merrow/runs", "run"),
    "merrow.evaluate": ("merrow.evaluations", "evaluation"),
    "merrow.optimize": ("merrow.optimizations", "search"),
    "merrow.extract": ("merrow.extractions", "extraction"),
    "merrow.reproduce": ("merrow.reproductions", "reproduction"),
}
"""Those that have an id, what lists them, and by which name."""


class Client:
    """A client that lets the server wait until it shows progress, and its user wait before they agree."""

    def __init__(self, editor: RunningEditor, server: OpenAIServer) -> None:
        self.editor, self.server = editor, server
        self.opening, self.shows = asyncio.Event(), asyncio.Event()
        self.asking = asyncio.Event()
        self.token: Any = None
        self._numbers = 0
        add = editor.client.protocol.fm.add_builtin_feature
        add(types.WINDOW_WORK_DONE_PROGRESS_CREATE, self._create)
        add(types.WINDOW_SHOW_MESSAGE_REQUEST, self._ask)

    async def _create(self, params: types.WorkDoneProgressCreateParams) -> None:
        self.editor.client.progress_reports.setdefault(params.token, [])
        self.token = params.token
        self.opening.set()
        await self.shows.wait()

    async def _ask(self, _: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
        self.asking.set()
        await asyncio.Event().wait()
        return None

    def order(self, command: str, *, agreed: bool = True) -> asyncio.Future[Any]:
        self._numbers += 1
        self.opening.clear()
        self.asking.clear()
        argument = {**KINDS[command], "agreed": agreed}
        if "uri" in argument:
            argument["uri"] = self.editor.uri(argument["uri"])
        if command == "merrow.test":
            del argument["agreed"]
        if command in ("merrow.run", "merrow.plan", "merrow.suggest"):
            argument["fresh"] = True
        params = types.ExecuteCommandParams(command, [argument])
        method = types.WORKSPACE_EXECUTE_COMMAND
        sent = self.editor.client.protocol.send_request_async(method, params, msg_id=self._name)
        return asyncio.ensure_future(sent)

    @property
    def _name(self) -> str:
        return f"ordered {self._numbers}"

    async def in_state(self, state: str, command: str) -> asyncio.Future[Any]:
        """An order that has come so far."""
        self.shows.clear() if state == "before it is open" else self.shows.set()
        before = len(self.server.requests)
        self.server.abandoned.clear()
        self.server.answer = lambda _: Hang()
        answer = self.order(command, agreed=state != "asked about")
        async with asyncio.timeout(WAIT):
            if state == "before it is open":
                await self.opening.wait()
            elif state == "asked about":
                await self.asking.wait()
            else:
                await self.server.arrived(before + 1)
        return answer

    async def cancel(self, door: str, command: str, another: RunningEditor | None) -> None:
        client, execute = self.editor.client, self.editor.execute
        if door == "request":
            client.cancel_request(types.CancelParams(self._name))
        elif door == "button":
            client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(self.token))
        elif door == "document":
            await execute("merrow.cancel", uri=self.editor.uri(KINDS[command]["uri"]))
        elif door == "all":
            await execute("merrow.cancel")
        else:
            by = self.editor if another is None else another
            method, name = LISTED[command]
            listed = await (by.ask(method) if "/" in method else by.execute(method))
            identity = listed[0][name]
            assert (listed[0]["status"], listed[0]["here"]) == ("running", another is None)
            said = identity if "/" in identity else identity[:8]
            assert await by.execute("merrow.cancel", run=said) == {"cancelled": [identity]}

    async def only_what_follows_is_asked(self) -> None:
        """After what was cancelled come two runs, in the same thread: all that goes on would have asked before the second."""
        self.shows.set()
        self.server.answer = lambda _: Reply("x")
        for number in range(2):
            before = len(self.server.requests)
            later = LATER.format((self._numbers, number))
            run = {"uri": self.editor.uri("flow.mmd"), "inputs": {"PROBLEM": later}}
            assert (await self.editor.execute("merrow.run", **run))["status"] == "finished"
        assert [later in request.prompt for request in self.server.requests[before:]] == [True]


@asynccontextmanager
async def client_in(folder: Path, *, from_nothing: bool = False) -> AsyncIterator[Client]:
    rows = [{"id": f"q{n}", "problem": f"What is {n}?", "answer": "x"} for n in range(40)]
    (folder / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "flow.mmd").write_text(SINGLE)
    tiny_data(folder / "data")
    (folder / "flow.cases.yaml").write_text(CASES)
    capabilities = MODERN | {"experimental": {"merrowRuns": True}}
    async with (
        OpenAIServer() as server,
        editor_on(folder, server, capabilities=capabilities, from_nothing=from_nothing) as editor,
    ):
        editor.open(SINGLE)
        editor.open(CASES, "flow.cases.yaml", "yaml")
        yield Client(editor, server)


def from_another(kinds: tuple[str, ...], number: int) -> list[str]:
    """The kinds, beginning with the one of this number, which finds a server that is cold."""
    first = number % len(kinds)
    return [*kinds[first:], *kinds[:first]]


ROWS = [
    ("before it is open", "request"),
    ("before it is open", "document"),
    ("before it is open", "all"),
    ("asked about", "request"),
    ("asked about", "button"),
    ("asked about", "document"),
    ("asked about", "all"),
    ("going on", "request"),
    ("going on", "button"),
    ("going on", "document"),
    ("going on", "all"),
    ("going on", "id"),
]
REST = [("before it is open", "document"), ("asked about", "document"), ("asked about", "all"), ("going on", "all")]
"""Those that differ from another one only in what is named."""


@pytest.mark.parametrize(
    ("state", "door"),
    [pytest.param(*row, marks=pytest.mark.slow if row in REST else ()) for row in ROWS],
)
async def test_nothing_is_asked_once_it_is_cancelled(tmp_path: Path, state: str, door: str) -> None:
    kinds = AGREED if state == "asked about" else tuple(LISTED) if door == "id" else tuple(KINDS)
    if door == "document":
        kinds = tuple(kind for kind in kinds if "uri" in KINDS[kind])
    async with client_in(tmp_path) as client:
        for command in from_another(kinds, ROWS.index((state, door))):
            before = len(client.server.requests)
            answer = await client.in_state(state, command)
            await client.cancel(door, command, None)
            client.shows.set()
            (ended,) = await asyncio.wait_for(asyncio.gather(answer, return_exceptions=True), WAIT)
            if door == "request":
                assert isinstance(ended, JsonRpcException)
                assert ended.code == types.LSPErrorCodes.RequestCancelled
            else:
                assert "cancelled" in str(ended), command
            if state == "going on":
                await asyncio.wait_for(client.server.abandoned.wait(), WAIT)
            else:
                assert len(client.server.requests) == before, command
            await client.only_what_follows_is_asked()


async def test_what_another_process_works_on_is_cancelled_by_its_id(tmp_path: Path) -> None:
    async with client_in(tmp_path) as client, editor_on(tmp_path, client.server) as another:
        for command in LISTED:
            answer = await client.in_state("going on", command)
            await client.cancel("elsewhere", command, another)
            assert (await asyncio.wait_for(answer, WAIT))["status"] == "cancelled"
            await client.only_what_follows_is_asked()


@pytest.mark.parametrize(
    "command",
    [
        "merrow.evaluate",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("merrow.run", "merrow.plan", "merrow.reproduce")),
    ],
)
async def test_the_end_of_the_server_ends_it(tmp_path: Path, command: str) -> None:
    async with client_in(tmp_path, from_nothing=True) as client:
        answer = await client.in_state("going on", command)
        await asyncio.wait_for(client.editor.client.shutdown_session(), WAIT)
        await asyncio.wait_for(client.server.abandoned.wait(), WAIT)
        asked = len(client.server.requests)
        await asyncio.gather(answer, return_exceptions=True)
        if command in LISTED:
            async with editor_on(tmp_path, client.server) as another:
                method, _ = LISTED[command]
                (listed,) = await (another.ask(method) if "/" in method else another.execute(method))
                assert listed["status"] == "cancelled"
        assert len(client.server.requests) == asked
