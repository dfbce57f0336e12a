"""Language servers that share a journal, that are ended by signals, and that find results of another endpoint in it."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from tests.patience import PATIENCE
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Step
from tests.runtime.workflows import CHAIN
from tests.server.lsp.running import RunningEditor, editor_on
from tests.server.lsp.test_run_end import QUESTION, in_the_middle, resumed

WAIT = PATIENCE


@pytest.mark.skipif(os.name != "posix", reason="signals are of POSIX")
@pytest.mark.thinned(16)
@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP"])
async def test_a_server_that_is_ended_by_a_signal_ends_its_runs_in_the_journal(tmp_path: Path, number: str) -> None:
    async with in_the_middle(tmp_path, from_nothing=True) as (editor, server, _, answer):
        process = editor.client._server
        assert process is not None
        process.send_signal(getattr(signal, number))
        await asyncio.wait_for(process.wait(), WAIT)
        answer.cancel()
        async with editor_on(tmp_path, server) as another:
            await resumed(another, server)


async def test_two_servers_run_at_once_in_one_journal(tmp_path: Path) -> None:
    async with (
        OpenAIServer(lambda request: Reply(request.prompt[-20:], delay=0.02)) as server,
        editor_on(tmp_path, server) as here,
        editor_on(tmp_path, server) as there,
    ):
        answers = [
            editor.begin(
                "merrow.run", uri=editor.open(CHAIN, f"{number}.mmd"), inputs={"problem": f"question {number}"}
            )
            for number, editor in enumerate([here, there] * 3)
        ]
        ended = await asyncio.wait_for(asyncio.gather(*answers), WAIT)
        assert [one["status"] for one in ended] == ["finished"] * 6
        for editor in (here, there):
            listed = await editor.ask("merrow/runs")
            assert {run["run"] for run in listed} == {one["run"] for one in ended}
            assert [run["usage"]["calls"] for run in listed] == [2] * 6
        shown = await here.ask("merrow/show", run=ended[1]["run"])
        assert shown["inputs"] == {"PROBLEM": "question 1"}


def answering(editor: RunningEditor, title: str | None) -> list[str]:
    """Have the editor answer questions with this button, or with none; what it was asked."""
    asked: list[str] = []

    def answer(params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
        asked.append(params.message)
        assert [action.title for action in params.actions or ()] == ["Run Again", "Keep Results"]
        return None if title is None else types.MessageActionItem(title)

    editor.client.protocol.fm.add_builtin_feature(types.WINDOW_SHOW_MESSAGE_REQUEST, answer)
    return asked


@pytest.mark.parametrize(("title", "calls"), [("Run Again", 2), ("Keep Results", 1), (None, 0)])
@pytest.mark.thinned(16)
async def test_the_user_is_asked_about_results_of_another_endpoint(
    tmp_path: Path, title: str | None, calls: int
) -> None:
    async with editor_on(tmp_path) as editor:
        first = await editor.execute("merrow.run", uri=editor.open(CHAIN), inputs=QUESTION)
        assert [one["endpoint"] for one in first["sources"]] == ["merrow:offline"]
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        asked = answering(editor, title)
        order: dict[str, Any] = {"uri": editor.open(CHAIN), "node": "B", "run": first["run"]}
        if title is None:
            with pytest.raises(JsonRpcException, match="Nothing was run"):
                await editor.execute("merrow.runFrom", **order)
        else:
            assert (await editor.execute("merrow.runFrom", **order))["status"] == "finished"
        assert len(server.requests) == calls
        (question,) = asked
        assert f"In run {first['run']}, A was answered by the embedded offline model, but {server.origin}" in question


@pytest.mark.slow
async def test_who_is_not_asked_says_it_with_the_command(tmp_path: Path) -> None:
    async with editor_on(tmp_path) as editor:
        first = await editor.execute("merrow.run", uri=editor.open(CHAIN), inputs=QUESTION)
        hints = [str(hint.label) for hint in await editor.hints(editor.uri("flow.mmd"))]
        assert any("embedded model" in hint for hint in hints)
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(CHAIN)
        for reuse, calls in (("any", 1), ("same", 2)):
            server.requests.clear()
            result = await editor.execute("merrow.runFrom", uri=uri, node="B", run=first["run"], reuse=reuse)
            assert (result["status"], len(server.requests)) == ("finished", calls)
        with pytest.raises(JsonRpcException, match="`reuse` must be"):
            await editor.execute("merrow.runFrom", uri=uri, node="B", run=first["run"], reuse="all")


async def test_a_damaged_run_hides_only_itself_and_is_told_once(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(CHAIN)
        hurt = (await editor.execute("merrow.run", uri=uri, inputs=QUESTION))["run"]
        sound = (await editor.execute("merrow.run", uri=uri))["run"]
        with sqlite3.connect(tmp_path / ".state" / "runs.sqlite") as database:
            database.execute("UPDATE runs SET snapshot = '{' WHERE id = ?", (hurt,))
        for _ in range(2):
            assert [run["run"] for run in await editor.ask("merrow/runs")] == [sound]
        told = [message.message for message in editor.client.messages]
        assert len(told) == 1
        assert f"merrow runs --delete {hurt}" in told[0]
        for method, params in (("merrow/show", {"run": hurt}), ("merrow/compareRuns", {"a": sound, "b": hurt})):
            with pytest.raises(JsonRpcException, match="is damaged in the journal"):
                await editor.ask(method, **params)
        with pytest.raises(JsonRpcException, match="is damaged in the journal"):
            await editor.execute("merrow.resume", run=hurt)
        assert await editor.ask("merrow/deleteRun", run=hurt) == {"run": hurt}


class Waiting(OpenAIServer):
    """Answers the first question about the letter X only when ``go`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()

    async def _perform(self, step: Step, request: Received, *streams: Any) -> bool:
        if "letter X" in request.prompt and "Answer the question." in request.prompt:
            await self.go.wait()
        return await super()._perform(step, request, *streams)


@pytest.mark.slow
async def test_runs_share_the_endpoint_and_only_the_last_one_closes_it(tmp_path: Path) -> None:
    async with Waiting() as server, editor_on(tmp_path, server) as editor:
        names = ("one.mmd", "two.mmd", "three.mmd")
        first, second, third = (editor.open(CHAIN, name) for name in names)
        held = editor.begin("merrow.run", uri=first, inputs={"problem": "What is the letter X?"})
        await server.arrived(1)
        for uri in (second, third):
            assert (await editor.execute("merrow.run", uri=uri, inputs={"problem": uri}))["status"] == "finished"
            assert not held.done()
            assert (len(server.requests), server.connections) == (3 if uri == second else 5, 2)
        server.go.set()
        assert (await held)["status"] == "finished"
        assert (len(server.requests), server.connections) == (6, 2), "its second question needs no new connection"
        for opened in (3, 4):
            ended = await editor.execute("merrow.run", uri=first, inputs={"problem": f"Number {opened}"})
            assert (ended["status"], server.connections) == ("finished", opened), "the one before was closed"


async def test_a_finished_run_that_is_resumed_says_so_and_stays_as_it_is(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        first = await editor.execute("merrow.run", uri=editor.open(CHAIN), inputs=QUESTION)
        before = await editor.ask("merrow/runs")
        again = await editor.execute("merrow.resume", run=first["run"])
        assert again["finished_before"] is True
        assert (again["outputs"], again["usage"]) == (first["outputs"], first["usage"])
        assert await editor.ask("merrow/runs") == before
        assert len(server.requests) == 2
        shown = await editor.ask("merrow/show", run=first["run"], node="B")
        (node,) = shown["nodes"]
        assert node["inputs"]["input"][0]["node"] == "A"
        assert node["why_no_call"] is None
        assert node["sources"] == [{"endpoint": server.origin, "model": "test-model"}]
