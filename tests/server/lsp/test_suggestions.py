"""Suggestions of a model in an editor: offered, agreed to, shown, applied as one step."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from tests.optimizer.suggestions.scripted import FLOW, Model, candidate, is_judging, prompt, said, setting
from tests.runtime.openai_server import Hang, OpenAIServer, Received, Reply, Step
from tests.server.lsp.editor import MODERN
from tests.server.lsp.running import WAIT, RunningEditor, editor_on

SUGGEST, APPLY = "merrow.suggest", "merrow.applySuggestion"
KIND = "refactor.rewrite.merrow.suggestion"
FIRST = said(
    candidate(prompt("Check each step."), title="Check the steps"),
    candidate(setting("samples", 3), title="Ask thrice"),
)
NEW = "Check each step."


def model() -> Model:
    return Model(FIRST, score=lambda one: 9 if one["title"] == "Ask thrice" else 4)


def applied(editor: RunningEditor, accepts: bool = True) -> list[types.ApplyWorkspaceEditParams]:
    """What the server has the client apply from now on."""
    found: list[types.ApplyWorkspaceEditParams] = []

    def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        found.append(params)
        return types.ApplyWorkspaceEditResult(applied=accepts)

    editor.client.protocol.fm.add_builtin_feature(types.WORKSPACE_APPLY_EDIT, apply)
    return found


def asked(editor: RunningEditor, answer: str | None) -> list[types.ShowMessageRequestParams]:
    """What the user is asked from now on; the button that begins with ``answer`` is pressed."""
    found: list[types.ShowMessageRequestParams] = []

    def show(params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
        found.append(params)
        pressed = [one for one in params.actions or () if answer is not None and one.title.startswith(answer)]
        return pressed[0] if pressed else None

    editor.client.protocol.fm.add_builtin_feature(types.WINDOW_SHOW_MESSAGE_REQUEST, show)
    return found


def after(text: str, edits: list[Any]) -> str:
    """A text (ASCII) after edits of it."""
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda one: one["range"]["start"]["line"], reverse=True):
        start, end = edit["range"]["start"], edit["range"]["end"]
        head, tail = lines[start["line"]][: start["character"]], lines[end["line"]][end["character"] :]
        lines[start["line"] : end["line"] + 1] = (head + edit["newText"] + tail).split("\n")
    return "\n".join(lines)


async def actions(editor: RunningEditor, uri: str, line: int, kind: str | None = None) -> list[str]:
    place = types.Range(types.Position(line, 5), types.Position(line, 5))
    only: list[Any] | None = None if kind is None else [kind]
    context = types.CodeActionContext([], only=only, trigger_kind=types.CodeActionTriggerKind.Invoked)
    params = types.CodeActionParams(types.TextDocumentIdentifier(uri), place, context)
    found = await editor.client.text_document_code_action_async(params) or []
    # The client's library reads an action with a command as a command.
    return [one.title for one in found if one.title.endswith("with the model")]


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.split("\n")) if part in line)


async def test_suggestions_are_answered_and_one_is_applied_as_one_step(tmp_path: Path) -> None:
    answers = model()
    async with OpenAIServer(answers) as server, editor_on(tmp_path, server) as editor:
        edits = applied(editor)
        uri = editor.open(FLOW)
        answer = await editor.execute(SUGGEST, uri=uri, preview=True, agreed=True)
        assert [one["title"] for one in answer["suggestions"]] == ["Ask thrice", "Check the steps"]
        assert [one["scores"]["total"] for one in answer["suggestions"]] == [45.0, 20.0]
        assert (answer["uri"], answer["version"], answer["applied"]) == (uri, 1, None)
        assert answer["valid"]["share_first"] == 1.0
        second = answer["suggestions"][1]
        assert second["diagramText"] == after(FLOW, second["edits"])
        assert (NEW in second["diagramText"], second["effect"]) == (True, "New prompt of A")
        assert second["run"]["calls"]["most"] == answer["run"]["calls"]["most"]
        assert edits == []

        done = await editor.execute(APPLY, id=second["id"])
        assert done == {"id": second["id"], "title": "Check the steps", "uri": uri}
        (params,) = edits
        assert params.label == "Check the steps"
        assert NEW in str(params.edit)
        assert [report.kind for report in editor.progress][-1] == "end"


@pytest.mark.slow
async def test_a_suggestion_for_another_version_is_refused(tmp_path: Path) -> None:
    async with OpenAIServer(model()) as server, editor_on(tmp_path, server) as editor:
        edits = applied(editor)
        uri = editor.open(FLOW)
        with pytest.raises(JsonRpcException, match="The text changed meanwhile") as caught:
            await editor.execute(SUGGEST, uri=uri, preview=True, agreed=True, version=7)
        assert caught.value.code == types.LSPErrorCodes.ContentModified
        answer = await editor.execute(SUGGEST, uri=uri, preview=True, agreed=True)
        editor.change(uri, FLOW.replace("one sentence", "two sentences"))
        with pytest.raises(JsonRpcException, match="The text changed meanwhile"):
            await editor.execute(APPLY, id=answer["suggestions"][0]["id"])
        with pytest.raises(JsonRpcException, match="There is no suggestion nonsense"):
            await editor.execute(APPLY, id="nonsense")
        assert edits == []


@pytest.mark.slow
async def test_the_text_may_not_change_while_models_are_asked(tmp_path: Path) -> None:
    slow = Reply(FIRST, delay=1.5)
    answers = model()

    def answer(request: Received) -> Step:
        return slow if len(request.body["messages"]) == 2 and not answers.requests else answers(request)

    async with OpenAIServer(answer) as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(FLOW)
        running = editor.begin(SUGGEST, uri=uri, preview=True, agreed=True)
        await server.arrived(1)
        editor.change(uri, FLOW.replace("one sentence", "two sentences"))
        with pytest.raises(JsonRpcException, match="The text changed meanwhile"):
            await asyncio.wait_for(running, WAIT)


@pytest.mark.slow
async def test_the_user_agrees_to_the_cost_where_it_may_be_more_than_allowed(tmp_path: Path) -> None:
    prices = '[prices."{}"."*"]\ninput = {}\noutput = {}\n'
    async with OpenAIServer(model()) as server:
        (tmp_path / ".config").mkdir()
        config = tmp_path / ".config" / "config.toml"
        config.write_text(prices.format(server.origin, 100, 100))
        async with editor_on(tmp_path, server) as editor:
            uri = editor.open(FLOW)
            questions = asked(editor, None)
            with pytest.raises(JsonRpcException, match="No model was asked"):
                await editor.execute(SUGGEST, uri=uri, preview=True)
            assert (len(questions), server.requests) == (1, [])
            assert "at most about $" in questions[0].message
            dry = await editor.execute(SUGGEST, uri=uri, dryRun=True)
            assert (dry["mayCost"], dry["calls"]["least"], server.requests) == (True, 3, [])
            asked(editor, "Ask the Model")
            assert len((await editor.execute(SUGGEST, uri=uri, preview=True))["suggestions"]) == 2
            # What is known is not asked for again, so nobody has to agree.
            count = len(server.requests)
            questions = asked(editor, None)
            assert len((await editor.execute(SUGGEST, uri=uri, preview=True))["suggestions"]) == 2
            assert (questions, len(server.requests)) == ([], count)
        config.write_text(prices.format(server.origin, 0.000001, 0.000001))
        async with editor_on(tmp_path, server) as editor:
            questions = asked(editor, None)
            uri = editor.open(FLOW)
            assert not (await editor.execute(SUGGEST, uri=uri, dryRun=True))["mayCost"]
            await editor.execute(SUGGEST, uri=uri, preview=True, seed=1)
            assert questions == []
        config.write_text(f"suggest_ask_above_usd = 0\n{prices.format(server.origin, 0.000001, 0.000001)}")
        async with editor_on(tmp_path, server) as editor:
            assert (await editor.execute(SUGGEST, uri=editor.open(FLOW), dryRun=True, seed=3))["mayCost"]
        config.write_text(prices.format(server.origin, 0.000001, 0.000001))
        pushed: Any = MODERN | {"workspace": {"applyEdit": True}}
        async with editor_on(tmp_path, server, capabilities=pushed, options={"suggestAskAboveUsd": 0}) as editor:
            assert (await editor.execute(SUGGEST, uri=editor.open(FLOW), dryRun=True, seed=2))["mayCost"]


@pytest.mark.slow
async def test_a_client_without_a_view_chooses_from_a_message(tmp_path: Path) -> None:
    async with OpenAIServer(model()) as server, editor_on(tmp_path, server, capabilities=MODERN) as editor:
        edits, questions = applied(editor), asked(editor, "2. ")
        uri = editor.open(FLOW)
        answer = await editor.execute(SUGGEST, uri=uri, agreed=True)
        assert answer["applied"] == answer["suggestions"][1]["id"]
        assert [one.title for one in questions[0].actions or ()] == [
            "1. Ask thrice (45.0 of 50)",
            "2. Check the steps (20.0 of 50)",
        ]
        assert len(edits) == 1
        asked(editor, None)
        assert (await editor.execute(SUGGEST, uri=uri, agreed=True))["applied"] is None
        assert len(edits) == 1


@pytest.mark.slow
async def test_a_client_without_a_view_is_told_where_nothing_can_be_chosen_and_what_to_do(tmp_path: Path) -> None:
    nothing = Model(said(candidate(prompt(NEW, node="NOBODY"), title="Nobody")))
    async with OpenAIServer(nothing) as server, editor_on(tmp_path, server, capabilities=MODERN) as editor:
        edits, questions = applied(editor), asked(editor, "1. ")
        uri = editor.open(FLOW)
        answer = await editor.execute(SUGGEST, uri=uri, n=1, agreed=True)
        assert (answer["suggestions"], answer["applied"], questions, edits) == ([], None, [], [])
        (message,) = editor.client.messages
        assert message.type is types.MessageType.Warning
        assert message.message.startswith("Suggestions for flow.mmd: none passed. ")
        assert await suggested(editor, uri) is None

    async with OpenAIServer(model()) as server, editor_on(tmp_path, server, capabilities=MODERN) as editor:
        uri = editor.open(FLOW)
        edits, count = applied(editor), asked(editor, None)
        for n, least in ((1, 3), (16, 3)):
            assert (await editor.execute(SUGGEST, uri=uri, n=n, dryRun=True))["calls"]["least"] == least
        assert (count, edits, server.requests) == ([], [], [])
        with pytest.raises(JsonRpcException, match="No model was asked") as caught:
            await editor.execute(SUGGEST, uri=uri)
        assert caught.value.code == types.LSPErrorCodes.RequestCancelled
        cost = (await editor.execute(SUGGEST, uri=uri, dryRun=True))["text"]
        assert [one.message for one in count] == [f"Suggestions for flow.mmd: {cost}"]

        def show(params: types.ShowMessageRequestParams) -> None:
            count.append(params)
            raise OSError("nobody")

        editor.client.protocol.fm.add_builtin_feature(types.WINDOW_SHOW_MESSAGE_REQUEST, show)
        with pytest.raises(JsonRpcException) as caught:
            await editor.execute(SUGGEST, uri=uri)
        wanted = "Execute the command with `agreed: true` to ask."
        assert caught.value.message == f"Suggestions for flow.mmd: {cost} {wanted}"
        assert (len(count), server.requests) == (2, [])
        # It is answered all the same where nobody can choose.
        answer = await editor.execute(SUGGEST, uri=uri, agreed=True, goal="g" * 1001)
        assert (len(answer["suggestions"]), answer["applied"], edits) == (2, None, [])
        first = answer["suggestions"][0]["effect"]
        assert count[2].message == f"Suggestions for flow.mmd: 1. {first}. 2. New prompt of A."
        assert "g" * 1000 in server.requests[0].prompt
        assert "g" * 1001 not in server.requests[0].prompt
        with pytest.raises(JsonRpcException, match="There is no suggestion x; ask for suggestions again"):
            await editor.execute(APPLY, id="x")


@pytest.mark.slow
async def test_suggestions_are_about_what_is_selected(tmp_path: Path) -> None:
    answers = model()
    async with OpenAIServer(answers) as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(FLOW)

        async def about(first: str, last: str, **more: Any) -> str:
            start, end = line_of(FLOW, first), line_of(FLOW, last)
            place = {"start": {"line": start, "character": 4}, "end": {"line": end, "character": 5}}
            count = len(server.requests)
            await editor.execute(SUGGEST, uri=uri, preview=True, agreed=True, fresh=True, range=place, **more)
            return server.requests[count].prompt

        whole = await about("title:", "title:")
        only, both = await about("A[", "A["), await about("A[", "B[")
        moves = [re.findall(r"- [0-9a-f]{12}: (.*?) \(", found) for found in (only, both, whole)]
        assert all(re.search(r"\bA\b", title) for title in moves[0])
        assert any(re.search(r"\bB\b", title) and not re.search(r"\bA\b", title) for title in moves[1])
        assert all(re.search(r"\b[AB]\b", title) for title in moves[1])
        assert not all(re.search(r"\b[AB]\b", title) for title in moves[2])
        # Inputs and outputs are nothing to improve, and a node that is named counts, not what is selected.
        assert re.findall(r"- [0-9a-f]{12}: (.*?) \(", await about("RETURN([", "RETURN([")) == moves[2]
        assert 'new prompts of the node "B"' in await about("A[", "A[", node="B")


@pytest.mark.slow
async def test_what_cannot_be_suggested_for_says_why(tmp_path: Path) -> None:
    async with OpenAIServer(model()) as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(FLOW)
        for arguments, why in (
            ({"n": 17}, "`n` must be a whole number from 1 to 16"),
            ({"goal": 3}, "`goal` must be a text"),
            ({"range": "x"}, "`range` must be a range"),
            ({"node": "NOBODY"}, "has no node NOBODY"),
            ({"node": "PROBLEM"}, "Node PROBLEM asks no model"),
        ):
            with pytest.raises(JsonRpcException, match=why):
                await editor.execute(SUGGEST, uri=uri, agreed=True, **arguments)
        broken = editor.open(FLOW.replace("role: quick", "role: nobody"), "broken.mmd")
        with pytest.raises(JsonRpcException, match=r"broken.mmd has \w+ errors? and is not run"):
            await editor.execute(SUGGEST, uri=broken, agreed=True)
        editor.client.protocol.notify("merrow/trust", {"trusted": False})
        with pytest.raises(JsonRpcException, match="not trusted"):
            await editor.execute(SUGGEST, uri=uri, agreed=True)
        assert server.requests == []
    async with editor_on(tmp_path) as editor:
        with pytest.raises(JsonRpcException, match="the embedded one can't make any"):
            await editor.execute(SUGGEST, uri=editor.open(FLOW), agreed=True)


@pytest.mark.slow
async def test_the_menu_offers_both_forms_where_they_make_sense(tmp_path: Path) -> None:
    answers = Model(said(candidate(prompt(NEW), title="Check")))
    async with OpenAIServer(answers) as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(FLOW)
        on_node = await actions(editor, uri, line_of(FLOW, "A["))
        assert on_node == ["Improve this prompt with the model", "Suggest improvements with the model"]
        assert await actions(editor, uri, line_of(FLOW, "RETURN(["), KIND) == ["Suggest improvements with the model"]
        answer = await editor.execute(SUGGEST, uri=uri, diagram=1, version=1, node="A", agreed=True, preview=True)
        assert [one["title"] for one in answer["suggestions"]] == ["Check"]
        assert '"A"' in answers.asked[0].prompt.rpartition("new prompts of the node")[2]
        broken = editor.open(FLOW.replace("role: quick", "role: nobody"), "broken.mmd")
        assert await actions(editor, broken, line_of(FLOW, "A[")) == []


@pytest.mark.slow
async def test_a_markdown_file_is_changed_in_its_block(tmp_path: Path) -> None:
    text = f"# Two\n\n```mermaid\nflowchart TD\n    X --> Y\n```\n\n```mermaid\n{FLOW}```\n"
    async with OpenAIServer(model()) as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(text, "flow.md", "markdown")
        answer = await editor.execute(SUGGEST, uri=uri, diagram=2, preview=True, agreed=True)
        one = answer["suggestions"][1]
        assert after(text, one["edits"]) == text.replace("Solve the problem step by step.", NEW)
        assert one["diagramText"] == FLOW.replace("Solve the problem step by step.", NEW)


@pytest.mark.slow
async def test_a_lens_says_how_many_suggestions_there_are_while_the_text_is_as_it_was(tmp_path: Path) -> None:
    async with OpenAIServer(model()) as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(FLOW)
        assert await suggested(editor, uri) is None
        await editor.execute(SUGGEST, uri=uri, preview=True, agreed=True, goal="be brief", fresh=True)
        count = len(server.requests)
        lens = await suggested(editor, uri)
        assert lens is not None
        assert lens.title == "2 suggestions"
        assert list(lens.arguments or ()) == [{"uri": uri, "diagram": 1, "goal": "be brief"}]
        shown = asked(editor, "2. ")
        edits = applied(editor)
        answer = await editor.execute(SUGGEST, uri=uri, diagram=1, goal="be brief")
        assert len(shown) == 1, "nothing may cost anything"
        assert answer["applied"] is not None
        assert len(edits) == 1
        assert len(server.requests) == count
        editor.change(uri, FLOW.replace("RETURN", "ANSWER"))
        assert await suggested(editor, uri) is None
        editor.change(uri, FLOW)
        assert await suggested(editor, uri) is not None


async def suggested(editor: RunningEditor, uri: str) -> types.Command | None:
    """The lens of suggestions."""
    params = types.CodeLensParams(types.TextDocumentIdentifier(uri))
    found = await editor.client.text_document_code_lens_async(params) or []
    return next((one.command for one in found if one.command is not None and one.command.command == SUGGEST), None)


@pytest.mark.slow
async def test_what_a_cancelled_question_used_is_said(tmp_path: Path) -> None:
    scripted = model()

    def slow(request: Received) -> Step:
        return Hang() if is_judging(request) else scripted(request)

    async with OpenAIServer(slow) as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(FLOW)
        asking = asyncio.ensure_future(editor.execute(SUGGEST, uri=uri, preview=True, agreed=True))
        async with asyncio.timeout(WAIT):
            while not any(map(is_judging, server.requests)):
                await asyncio.sleep(0.05)
        await editor.execute("merrow.cancel", uri=uri)
        with pytest.raises(JsonRpcException, match=r"answers that came are kept and not paid again\. 3 calls, "):
            await asking
