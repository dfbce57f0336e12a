"""The journal of runs as an editor asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from tests.runtime.openai_server import OpenAIServer, Reply
from tests.runtime.workflows import CHAIN
from tests.server.lsp.running import editor_on


@pytest.mark.slow
async def test_runs_are_listed_shown_compared_and_deleted(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        server.script(Reply("It has eight legs."), Reply("eight"))
        uri = editor.open(CHAIN)
        assert await editor.ask("merrow/runs") == []
        first = (await editor.execute("merrow.run", uri=uri, inputs={"problem": "Legs of a spider?"}))["run"]
        server.script(Reply("8"))
        editor.change(uri, CHAIN.replace("Shorten the answer.", "Write it as a number."))
        second = (await editor.execute("merrow.run", uri=uri))["run"]
        other = (await editor.execute("merrow.run", uri=editor.open(CHAIN, "other.mmd"), inputs={"problem": "?"}))[
            "run"
        ]

        assert [run["run"] for run in await editor.ask("merrow/runs")] == [other, second, first]
        assert [run["run"] for run in await editor.ask("merrow/runs", limit=1)] == [other]
        assert len(await editor.ask("merrow/runs", limit=1000)) == 3
        listed = await editor.ask("merrow/runs", uri=uri)
        assert [(run["run"], run["uri"], run["diagram"], run["status"]) for run in listed] == [
            (second, uri, 1, "finished"),
            (first, uri, 1, "finished"),
        ]

        shown = await editor.ask("merrow/show", run=first)
        assert shown["inputs"] == {"PROBLEM": "Legs of a spider?"}
        assert shown["text"] == CHAIN
        nodes = {node["node"]: node for node in shown["nodes"]}
        (call,) = nodes["B"]["calls"]
        assert "It has eight legs." in call["request"]["messages"][-1]["content"]
        assert call["result"]["text"] == "eight"
        only = await editor.ask("merrow/show", run=first, node="B")
        assert [node["node"] for node in only["nodes"]] == ["B"]

        compared = await editor.ask("merrow/compareRuns", a=first, b=second)
        assert (compared["textEqual"], compared["inputsEqual"]) == (False, True)
        equal = {node["node"]: node["equal"] for node in compared["nodes"]}
        assert equal["A"] == {"status": True, "outputs": True, "key": True}
        assert equal["B"] == {"status": True, "outputs": False, "key": False}
        sides = next(node for node in compared["nodes"] if node["node"] == "B")
        assert (sides["a"]["outputs"], sides["b"]["outputs"]) == ({"response": "eight"}, {"response": "8"})
        assert sides["a"]["usage"]["calls"] == 1

        assert await editor.ask("merrow/deleteRun", run=first) == {"run": first}
        assert [run["run"] for run in await editor.ask("merrow/runs", uri=uri)] == [second]
        for method, params, says in (
            ("merrow/show", {"run": first}, "no run"),
            ("merrow/show", {}, "needs `run`"),
            ("merrow/compareRuns", {"a": second, "b": first}, "no run"),
            ("merrow/deleteRun", {"run": first}, "no run"),
            ("merrow/runs", {"limit": 0}, "`limit`"),
            ("merrow/runs", {"limit": 1001}, "from 1 to 1000"),
            ("merrow/runs", {"limit": "1"}, "`limit`"),
            ("merrow/runs", {"limit": True}, "`limit`"),
            ("merrow/compareRuns", {"a": second}, "needs `b`"),
            ("merrow/runs", {"uri": 5}, "uri"),
        ):
            with pytest.raises(JsonRpcException, match=says):
                await editor.ask(method, **params)


async def test_a_run_of_a_text_that_is_in_no_file_is_listed_under_its_uri(tmp_path: Path) -> None:
    async with editor_on(tmp_path) as editor:
        uri = "untitled:Flow-1"
        item = types.TextDocumentItem(uri, "mermaid", 1, CHAIN)
        editor.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        await editor.execute("merrow.run", uri=uri, inputs={"problem": "?"})
        assert [(run["uri"], run["diagram"]) for run in await editor.ask("merrow/runs")] == [(uri, 1)]
        assert len(await editor.ask("merrow/runs", uri=uri)) == 1
