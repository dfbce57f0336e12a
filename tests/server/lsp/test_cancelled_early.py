"""What is ordered of models and cancelled before it is open asks none: every kind, every way, a cold server, a slow client."""

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
from tests.runtime.openai_server import Hang, OpenAIServer
from tests.server.lsp.editor import MODERN
from tests.server.lsp.running import WAIT, RunningEditor, editor_on

FLOW = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    A@{op: Custom, prompt: "first", model: m-1}
    RETURN([Answer]):::Interface
    PROBLEM --> A --> RETURN
"""
CASES = "cases:\n  - id: one\n    inputs: {PROBLEM: What is 1?}\n    expect: {contains: x}\n"
LATER = "This is asked afterwards."
DATA = {"dataset": "own.jsonl", "gold": "answer", "metric": "exact", "agreed": True}
KINDS: dict[str, dict[str, Any]] = {
    "merrow.run": {"uri": "flow.mmd", "inputs": {"PROBLEM": "What is 1?"}},
    "merrow.evaluate": {"uri": "flow.mmd", **DATA},
    "merrow.optimize": {"uri": "flow.mmd", **DATA, "strategy": "climb", "out": "found"},
    "merrow.plan": {"uri": "flow.mmd", "task": "Make a web page.", "agreed": True},
    "merrow.suggest": {"uri": "flow.mmd", "agreed": True},
    "merrow.test": {"uri": "flow.cases.yaml"},
}
"""By command, what is ordered."""


class SlowClient:
    """A client that lets the server wait until it shows progress."""

    def __init__(self, editor: RunningEditor) -> None:
        self.editor = editor
        self.asked, self.shows = asyncio.Event(), asyncio.Event()
        create = types.WINDOW_WORK_DONE_PROGRESS_CREATE
        editor.client.protocol.fm.add_builtin_feature(create, self._create)

    async def _create(self, params: types.WorkDoneProgressCreateParams) -> None:
        self.editor.client.progress_reports.setdefault(params.token, [])
        self.asked.set()
        await self.shows.wait()

    def order(self, command: str) -> asyncio.Future[Any]:
        argument = {**KINDS[command]}
        argument["uri"] = self.editor.uri(argument["uri"])
        params = types.ExecuteCommandParams(command, [argument])
        method = types.WORKSPACE_EXECUTE_COMMAND
        return asyncio.ensure_future(self.editor.client.protocol.send_request_async(method, params, msg_id="ordered"))


@asynccontextmanager
async def slow_client(folder: Path) -> AsyncIterator[tuple[SlowClient, OpenAIServer]]:
    rows = [{"id": f"q{n}", "problem": f"What is {n}?", "answer": "x"} for n in range(40)]
    (folder / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "flow.mmd").write_text(FLOW)
    (folder / "flow.cases.yaml").write_text(CASES)
    capabilities = MODERN | {"experimental": {"merrowRuns": True}}
    async with OpenAIServer() as server, editor_on(folder, server, capabilities=capabilities) as editor:
        editor.open(FLOW)
        editor.open(CASES, "flow.cases.yaml", "yaml")
        yield SlowClient(editor), server


async def only_what_follows_is_asked(client: SlowClient, server: OpenAIServer) -> None:
    """After what was cancelled comes a run to its end, in the same thread: all that goes on would have asked before."""
    client.shows.set()
    uri = client.editor.uri("flow.mmd")
    later = await client.editor.execute("merrow.run", uri=uri, inputs={"PROBLEM": LATER})
    assert later["status"] == "finished"
    assert [LATER in request.prompt for request in server.requests] == [True]


@pytest.mark.parametrize("command", KINDS)
async def test_what_is_not_cancelled_asks(tmp_path: Path, command: str) -> None:
    async with slow_client(tmp_path) as (client, server):
        answer = client.order(command)
        client.shows.set()
        await asyncio.wait_for(server.arrived(1), WAIT)
        await client.editor.execute("merrow.cancel")
        await asyncio.wait_for(asyncio.gather(answer, return_exceptions=True), WAIT)


@pytest.mark.parametrize("command", KINDS)
async def test_cancelled_with_its_request_before_it_is_open(tmp_path: Path, command: str) -> None:
    async with slow_client(tmp_path) as (client, server):
        answer = client.order(command)
        await asyncio.wait_for(client.asked.wait(), WAIT)
        client.editor.client.cancel_request(types.CancelParams("ordered"))
        with pytest.raises(JsonRpcException) as caught:
            await asyncio.wait_for(answer, WAIT)
        assert caught.value.code == types.LSPErrorCodes.RequestCancelled
        await only_what_follows_is_asked(client, server)


@pytest.mark.parametrize("command", KINDS)
@pytest.mark.parametrize("where", ["flow.mmd", None])
async def test_cancelled_by_command_before_it_is_open(tmp_path: Path, command: str, where: str | None) -> None:
    async with slow_client(tmp_path) as (client, server):
        answer = client.order(command)
        await asyncio.wait_for(client.asked.wait(), WAIT)
        await client.editor.execute("merrow.cancel", **({} if where is None else {"uri": client.editor.uri(where)}))
        client.shows.set()
        ended = await asyncio.wait_for(asyncio.gather(answer, return_exceptions=True), WAIT)
        assert "cancelled" in str(ended[0])
        await only_what_follows_is_asked(client, server)


@pytest.mark.parametrize("command", ["merrow.evaluate", "merrow.optimize"])
async def test_what_another_process_works_on_is_cancelled_by_its_id(tmp_path: Path, command: str) -> None:
    async with slow_client(tmp_path) as (client, server), editor_on(tmp_path, server) as another:
        client.shows.set()
        server.answer = lambda _: Hang()
        answer = client.order(command)
        await asyncio.wait_for(server.arrived(1), WAIT)
        listed = "merrow.evaluations" if command == "merrow.evaluate" else "merrow.optimizations"
        (seen,) = await another.execute(listed)
        identity = seen.get("evaluation") or seen["search"]
        assert await another.execute("merrow.cancel", run=identity[:8]) == {"cancelled": [identity]}
        assert (await asyncio.wait_for(answer, WAIT))["status"] == "cancelled"
