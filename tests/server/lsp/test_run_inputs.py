"""Where the inputs of a run come from: the command, the last run, the workflow, the user."""

from __future__ import annotations

from pathlib import Path

import pytest
from pygls.exceptions import JsonRpcException
from tests.runtime.openai_server import OpenAIServer
from tests.runtime.workflows import CHAIN
from tests.server.lsp.editor import MODERN
from tests.server.lsp.running import editor_on


async def test_an_input_that_is_missing_is_named_with_the_remedy(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server, capabilities=MODERN) as editor:
        uri = editor.open(CHAIN)
        with pytest.raises(JsonRpcException) as caught:
            await editor.execute("merrow.run", uri=uri)
        assert (
            'missing for the input PROBLEM: run the command with `inputs: {"PROBLEM": "..."}`' in caught.value.message
        )
        assert "`default:`" in caught.value.message
        assert server.requests == []


async def test_values_of_the_last_run_are_remembered_for_each_document(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server, capabilities=MODERN) as editor:
        uri = editor.open(CHAIN)
        await editor.execute("merrow.run", uri=uri, inputs={"problem": "the first question"})
        editor.change(uri, CHAIN.replace("Answer the question.", "Answer it."))
        await editor.execute("merrow.run", uri=uri)
        assert "the first question" in server.requests[2].prompt
        plan = await editor.execute("merrow.dryRun", uri=uri)
        assert "the first question" in str(plan["nodes"])
        other = editor.open(CHAIN, "other.mmd")
        with pytest.raises(JsonRpcException, match="PROBLEM"):
            await editor.execute("merrow.run", uri=other)


async def test_an_input_with_a_default_need_not_be_given(tmp_path: Path) -> None:
    node = 'PROBLEM@{ label: "Problem", default: "the usual question" }'
    text = CHAIN.replace("PROBLEM([Problem]):::Interface", f"{node}\n    class PROBLEM Interface")
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        assert (await editor.execute("merrow.run", uri=editor.open(text)))["status"] == "finished"
        assert "the usual question" in server.requests[0].prompt
        assert editor.asked == []


async def test_the_client_is_asked_once_and_again_where_that_is_wanted(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(CHAIN)
        editor.inputs["PROBLEM"] = "the user's question"
        for _ in range(2):
            assert (await editor.execute("merrow.run", uri=uri))["status"] == "finished"
        assert "the user's question" in server.requests[0].prompt
        asked = {"uri": uri, "diagram": 1, "name": "PROBLEM", "title": "Problem", "type": "Problem"}
        assert editor.asked == [asked]
        editor.inputs["PROBLEM"] = "another question"
        await editor.execute("merrow.run", uri=uri, ask=True)
        assert editor.asked == [asked, asked | {"last": "the user's question"}]
        assert "another question" in server.requests[2].prompt


async def test_a_user_who_gives_no_value_has_nothing_run(tmp_path: Path) -> None:
    async with OpenAIServer() as server, editor_on(tmp_path, server) as editor:
        with pytest.raises(JsonRpcException, match="No value was given for the input PROBLEM"):
            await editor.execute("merrow.run", uri=editor.open(CHAIN))
        assert server.requests == []
        assert editor.events == []
