"""`merrow.runBoth`: a workflow as it is and after a safe mutation on the same inputs, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from tests.runtime.openai_server import OpenAIServer, Reply
from tests.runtime.workflows import CHAIN
from tests.server.lsp.editor import MODERN
from tests.server.lsp.running import RunningEditor, editor_on

QUESTION = {"problem": "How many legs has a spider?"}


async def insertion(editor: RunningEditor, uri: str) -> str:
    """The id of a mutation that leaves all questions before it as they are."""
    more: dict[str, Any] = {}
    while True:  # a page ends where looking for it has taken a second
        page = await editor.execute(
            "merrow.mutations", uri=uri, operator="addition", search="Insert Custom on", page=50, **more
        )
        for move in page["moves"]:
            if move["title"] == "Insert Custom on B -> RETURN":
                return str(move["id"])
        assert page["cursor"] is not None
        more = {"cursor": page["cursor"]}


async def test_both_are_run_and_what_they_share_is_asked_once(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        server.script(Reply("It has eight legs."), Reply("eight"), Reply("8"))
        uri = editor.open(CHAIN)
        move = await insertion(editor, uri)
        told = await editor.execute("merrow.runBoth", uri=uri, id=move, inputs=QUESTION)
        assert server.requests == []
        assert [plan["calls"]["most"] for plan in told["plans"]] == [2, 3]
        assert told["cost"].startswith("running both makes 3 to 5 calls to ")
        both = await editor.execute("merrow.runBoth", uri=uri, id=move, inputs=QUESTION, agreed=True)
        now, after = both["runs"]
        assert (now["outputs"], after["outputs"]) == ({"RETURN": "eight"}, {"RETURN": "8"})
        assert (now["usage"]["calls"], after["usage"]["calls"]) == (2, 1)
        assert len(server.requests) == 3
        assert now["run"] != after["run"]
        assert "| calls | 2 | 1 |\n" in both["text"]
        assert "**now**\n\n```\neight\n```\n\n**after**\n\n```\n8\n```\n" in both["text"]


async def test_the_inputs_are_those_of_the_last_run(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(CHAIN)
        await editor.execute("merrow.run", uri=uri, inputs=QUESTION)
        asked = len(server.requests)
        both = await editor.execute("merrow.runBoth", uri=uri, id=await insertion(editor, uri), agreed=True)
        assert [run["status"] for run in both["runs"]] == ["finished", "finished"]
        assert both["runs"][0]["usage"]["calls"] == 0
        assert len(server.requests) == asked + 1


@pytest.mark.slow
@pytest.mark.parametrize("answer", [None, "Run both"])
async def test_a_reader_without_a_view_of_runs_agrees_first(tmp_path: Path, answer: str | None) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server, capabilities=MODERN) as editor:
        asked: list[str] = []

        def agree(params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
            asked.append(params.message)
            return None if answer is None else types.MessageActionItem(answer)

        editor.client.protocol.fm.add_builtin_feature(types.WINDOW_SHOW_MESSAGE_REQUEST, agree)
        uri = editor.open(CHAIN)
        move = await insertion(editor, uri)
        if answer is None:
            with pytest.raises(JsonRpcException, match="Nothing was run"):
                await editor.execute("merrow.runBoth", uri=uri, id=move, inputs=QUESTION)
            assert server.requests == []
        else:
            both = await editor.execute("merrow.runBoth", uri=uri, id=move, inputs=QUESTION)
            assert both["text"].startswith("# Now, and after: Insert Custom on B -> RETURN\n")
        assert "running both makes 3 to 5 calls" in asked[0]


async def test_a_mutation_that_is_not_there(tmp_path: Path) -> None:
    async with editor_on(tmp_path) as editor:
        uri = editor.open(CHAIN)
        with pytest.raises(JsonRpcException, match="has no mutation"):
            await editor.execute("merrow.runBoth", uri=uri, id="0" * 12, inputs=QUESTION)
        with pytest.raises(JsonRpcException, match="`id` must be"):
            await editor.execute("merrow.runBoth", uri=uri)
