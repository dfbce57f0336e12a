"""Runs that end early: cancelled in every way an editor can, shut down, and gone on with without paying twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from tests.runtime.openai_server import Hang, OpenAIServer, Reply, Status
from tests.runtime.workflows import CHAIN
from tests.server.lsp.editor import MODERN, Editor, ServerError
from tests.server.lsp.running import RUNS, WAIT, RunningEditor, editor_on

from merrow_runtime.frontier.fold import Frontier

QUESTION = {"problem": "How many legs has a spider?"}


@asynccontextmanager
async def in_the_middle(
    folder: Path, *, from_nothing: bool = False
) -> AsyncIterator[tuple[RunningEditor, OpenAIServer, str, asyncio.Future[Any]]]:
    """A run whose first node is finished and whose second waits for its answer."""
    async with OpenAIServer() as server, editor_on(folder, server, from_nothing=from_nothing) as editor:
        server.script(Reply("It has eight legs."), Hang())
        uri = editor.open(CHAIN)
        answer = editor.begin("merrow.run", uri=uri, inputs=QUESTION)
        await asyncio.wait_for(server.arrived(2), WAIT)
        await editor.until(lambda: any(event["node"] == "A" for event in editor.named("node_finished")))
        yield editor, server, uri, answer


async def resumed(editor: RunningEditor, server: OpenAIServer) -> None:
    """Going on asks only what was not answered."""
    await asyncio.wait_for(server.abandoned.wait(), WAIT)
    before = len(server.requests)
    (ended,) = await editor.ask("merrow/runs")
    assert ended["status"] == "cancelled"
    server.script(Reply("eight"))
    result = await editor.execute("merrow.resume", run=ended["run"])
    assert (result["status"], result["outputs"]) == ("finished", {"RETURN": "eight"})
    assert len(server.requests) == before + 1
    assert "It has eight legs." in server.requests[-1].prompt


@pytest.mark.slow
@pytest.mark.parametrize("which", ["uri", "run", "all"])
async def test_a_run_is_cancelled_by_command_and_resumed(tmp_path: Path, which: str) -> None:
    async with in_the_middle(tmp_path) as (editor, server, uri, answer):
        run = editor.events[0]["run"]
        said = await editor.execute("merrow.cancel", **{"uri": {"uri": uri}, "run": {"run": run}, "all": {}}[which])
        assert said == {"cancelled": [run]}
        result = await asyncio.wait_for(answer, WAIT)
        assert result["status"] == "cancelled"
        assert result["usage"]["estimated"]
        assert editor.events[-1]["event"] == "run_cancelled"
        await resumed(editor, server)
        assert editor.notices[-1]["uri"] == uri


async def test_a_client_that_shows_no_runs_is_told_that_one_was_cancelled_or_failed(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server, capabilities=MODERN) as editor:
        server.script(Reply("It has eight legs."), Hang())
        uri = editor.open(CHAIN)
        running = editor.begin("merrow.run", uri=uri, inputs={"problem": "x"})
        await asyncio.wait_for(server.arrived(2), WAIT)
        await editor.execute("merrow.cancel")
        ended = await asyncio.wait_for(running, WAIT)
        server.script(Status(401, "no such key"))
        failed = await editor.execute("merrow.run", uri=uri, inputs={"problem": "y"})
        first, second = [message.message for message in editor.client.messages]
        assert first.startswith(f"Run {ended['run']} was cancelled (")
        assert second.startswith(f"Run {failed['run']} failed (")
        assert "no such key" in second


async def test_a_run_is_cancelled_by_the_button_of_its_progress(tmp_path: Path) -> None:
    async with in_the_middle(tmp_path) as (editor, server, _, answer):
        (token,) = editor.client.progress_reports
        editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
        assert (await asyncio.wait_for(answer, WAIT))["status"] == "cancelled"
        assert editor.progress[-1].kind == "end"
        await resumed(editor, server)


async def test_a_run_is_cancelled_with_its_request(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        server.script(Reply("It has eight legs."), Hang())
        params = types.ExecuteCommandParams("merrow.run", [{"uri": editor.open(CHAIN), "inputs": QUESTION}])
        method = types.WORKSPACE_EXECUTE_COMMAND
        answer = asyncio.ensure_future(editor.client.protocol.send_request_async(method, params, msg_id="the run"))
        await asyncio.wait_for(server.arrived(2), WAIT)
        editor.client.cancel_request(types.CancelParams("the run"))
        with pytest.raises(JsonRpcException) as caught:
            await asyncio.wait_for(answer, WAIT)
        assert caught.value.code == types.LSPErrorCodes.RequestCancelled
        await editor.until(lambda: editor.named("run_cancelled"))
        await resumed(editor, server)


@pytest.mark.slow
async def test_a_server_that_is_shut_down_ends_its_runs_in_the_journal(tmp_path: Path) -> None:
    async with in_the_middle(tmp_path, from_nothing=True) as (editor, server, _, answer):
        await asyncio.wait_for(editor.client.shutdown_session(), WAIT)
        await asyncio.wait_for(server.abandoned.wait(), WAIT)
        await asyncio.gather(answer, return_exceptions=True)
        async with editor_on(tmp_path, server) as another:
            await resumed(another, server)


@pytest.mark.slow
async def test_a_server_whose_client_goes_ends_its_runs_in_the_journal(tmp_path: Path) -> None:
    async with in_the_middle(tmp_path, from_nothing=True) as (editor, server, _, answer):
        process = editor.client._server
        assert process is not None
        assert process.stdin is not None
        process.stdin.close()
        await asyncio.wait_for(process.wait(), WAIT)
        answer.cancel()
        async with editor_on(tmp_path, server) as another:
            await resumed(another, server)


@pytest.mark.slow
async def test_a_run_that_another_process_works_on_is_cancelled_through_the_journal(tmp_path: Path) -> None:
    async with in_the_middle(tmp_path) as (editor, server, _, answer), editor_on(tmp_path, server) as another:
        (seen,) = await another.ask("merrow/runs")
        assert (seen["status"], seen["here"]) == ("running", False)
        with pytest.raises(JsonRpcException, match="still going on"):
            await another.ask("merrow/deleteRun", run=seen["run"])
        with pytest.raises(JsonRpcException, match="process"):
            await another.execute("merrow.resume", run=seen["run"])
        assert await another.execute("merrow.cancel", run=seen["run"]) == {"cancelled": [seen["run"]]}
        assert (await asyncio.wait_for(answer, WAIT))["status"] == "cancelled"
        with pytest.raises(JsonRpcException, match="Nobody works on run"):
            await another.execute("merrow.cancel", run=seen["run"])
        assert editor.events[-1]["event"] == "run_cancelled"


async def test_a_run_whose_budget_was_used_up_goes_on_with_a_higher_one(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(CHAIN)
        failed = await editor.execute("merrow.run", uri=uri, inputs=QUESTION, budget={"tokens": 1})
        assert failed["status"] == "failed"
        assert "budget of 1 token is used up" in failed["error"]
        result = await editor.execute("merrow.resume", run=failed["run"], budget={"tokens": 10_000})
        assert result["status"] == "finished"
        assert len(server.requests) == 2


async def test_a_run_that_failed_at_the_endpoint_is_resumed(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        server.script(Reply("It has eight legs."), Status(401, "bad key"))
        uri = editor.open(CHAIN)
        failed = await editor.execute("merrow.run", uri=uri, inputs=QUESTION)
        assert failed["status"] == "failed"
        assert server.origin in failed["error"]
        result = await editor.execute("merrow.resume", run=failed["run"])
        assert result["status"] == "finished"
        assert len(server.requests) == 3


def test_a_fault_in_merrow_ends_a_run_with_one_event_and_it_can_be_resumed(
    open_editor: Callable[..., Editor], tmp_path: Path
) -> None:
    editor = open_editor(RUNS, tmp_path)
    asked = {"uri": editor.open(CHAIN), "inputs": QUESTION, "baseUrl": "offline"}
    with (
        patch.object(Frontier, "begin", side_effect=RuntimeError("broken")),
        pytest.raises(ServerError, match="failed inside Merrow; everything else goes on"),
    ):
        editor.request("workspace/executeCommand", {"command": "merrow.run", "arguments": [asked]})
    events = [one["event"] for one in editor.messages("merrow/runEvent")]
    assert [(one["event"], one["number"]) for one in events] == [("run_started", 1), ("run_failed", 2)]
    assert events[1]["run"] == events[0]["run"]
    assert events[1]["error"] == "internal error, RuntimeError: broken"
    again = {"command": "merrow.resume", "arguments": [{"run": events[0]["run"]}]}
    assert editor.request("workspace/executeCommand", again)["status"] == "finished"
