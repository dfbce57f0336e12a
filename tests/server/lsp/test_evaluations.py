"""Evaluations as an editor has them: begun, watched, cancelled, gone on with, listed, shown, compared, deleted."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Step
from tests.server.lsp.editor import MODERN, Editor
from tests.server.lsp.running import WAIT, RunningEditor, editor_on
from tests.server.searching import SINGLE
from tests.tools.mailer import TOOLS

from merrow_analysis.tools.pins import NO_PINS, PINS_FILE, pinned
from merrow_optimizer.evaluation.metrics.base import BaseMetric

OWN = {"dataset": "own.jsonl", "gold": "answer", "metric": "numeric", "agreed": True}


def answer(request: Received) -> Step:
    """The sum that is asked for; that of 3 and 3 is wrong."""
    numbers = [
        int(word) for word in request.body["messages"][-1]["content"].replace("?", " ").split() if word.isdigit()
    ]
    return Reply("7" if numbers[0] == 3 else str(sum(numbers)))


def slow(request: Received) -> Step:
    """The same, but the sum of 5 and 5 is long in coming."""
    return Reply("10", delay=300.0) if " 5 " in request.body["messages"][-1]["content"] else answer(request)


def data(folder: Path, count: int = 6) -> None:
    rows = [{"id": f"q{n}", "problem": f"What is {n} plus {n}?", "answer": str(2 * n)} for n in range(count)]
    (folder / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


class Watched:
    """What an editor was told of evaluations."""

    def __init__(self, editor: RunningEditor) -> None:
        self.news: list[dict[str, Any]] = []
        editor.client.protocol.fm.add_builtin_feature("merrow/evaluationEvent", self.news.append)

    async def until(self, done: int) -> dict[str, Any]:
        """Wait until so many answers are scored."""
        async with asyncio.timeout(WAIT):
            while not self.news or self.news[-1]["done"] < done:
                await asyncio.sleep(0.01)
        return self.news[-1]


async def lenses(editor: RunningEditor, uri: str) -> list[types.Command]:
    found = await editor.client.text_document_code_lens_async(types.CodeLensParams(types.TextDocumentIdentifier(uri)))
    return [
        lens.command
        for lens in found or []
        if lens.command is not None and lens.command.command == "merrow.showEvaluation"
    ]


async def lens(editor: RunningEditor, uri: str, says: str) -> types.Command:
    """The lens of the last evaluation, as soon as it says this. Asked for again only when the server wants that."""
    async with asyncio.timeout(WAIT):
        while True:
            editor.asked_for_lenses.clear()
            for found in await lenses(editor, uri):
                if says in found.title:
                    return found
            await editor.asked_for_lenses.wait()


async def test_an_evaluation_is_watched_listed_shown_compared_and_deleted(tmp_path: Path) -> None:
    data(tmp_path)
    async with OpenAIServer(answer) as server, editor_on(tmp_path, server) as editor:
        watched = Watched(editor)
        uri = editor.open(SINGLE)
        forecast = await editor.execute("merrow.evaluate", uri=uri, **OWN, dryRun=True)
        assert (forecast["items"], forecast["calls"], forecast["mayCost"]) == (6, {"least": 6, "most": 6}, True)
        assert "6 items of" in forecast["text"]
        assert server.requests == []
        assert await editor.execute("merrow.evaluations") == []

        ended = await editor.execute("merrow.evaluate", uri=uri, **OWN)
        assert (ended["status"], ended["answers"]["right"], ended["answers"]["wrong"]) == ("finished", 5, 1)
        assert (ended["uri"], ended["diagram"], ended["here"]) == (uri, 1, False)
        assert len(server.requests) == 6
        assert watched.news[0]["done"] == 0
        assert watched.news[-1]["done"] == watched.news[-1]["total"] == 6
        rows = [row for news in watched.news for row in news["rows"]]
        assert {row["item"]: row["status"] for row in rows} == {
            f"q{n}": "wrong" if n == 3 else "right" for n in range(6)
        }
        reports = [report.message for report in editor.progress if report.kind == "report"]
        assert reports[-1].startswith("6 of 6 answers, score 0.833, cost unknown")

        again = await editor.execute("merrow.evaluate", uri=uri, **(OWN | {"metric": "contains"}))
        assert len(server.requests) == 6
        assert [one["evaluation"] for one in await editor.execute("merrow.evaluations", uri=uri)] == [
            again["evaluation"],
            ended["evaluation"],
        ]
        report = await editor.ask("merrow/evaluation", id=ended["evaluation"])
        assert report["rows"][0]["item"] == "q3"
        assert sorted(row["item"] for row in report["rows"]) == [f"q{n}" for n in range(6)]
        assert (report["rows"][0]["read"], report["rows"][0]["gold"]) == ("7", "6")
        item = await editor.ask("merrow/evaluation", id=ended["evaluation"], item="q3")
        assert [row["output"] for row in item["rows"]] == ["7"]
        shown = await editor.ask("merrow/show", run=report["rows"][0]["run"])
        assert [call["result"]["text"] for node in shown["nodes"] for call in node["calls"]] == ["7"]
        page = await editor.execute("merrow.showEvaluation", id=ended["evaluation"])
        assert "\x1b" not in page["text"]
        assert "q3    wrong" in page["text"]

        answers = {"evaluation": ended["evaluation"], "item": "q3"}
        for verdict in ("good", "bad", None):
            await editor.execute("merrow.rateAnswer", **answers, verdict=verdict)
            rated = await editor.ask("merrow/evaluation", id=ended["evaluation"])
            assert [row["verdict"] for row in rated["rows"]] == [verdict, *[None] * 5]
            assert rated.get("people", {}).get("items") == (None if verdict is None else 1)
        noted = await editor.execute("merrow.rateAnswer", **answers, verdict="bad", note="one too many")
        assert noted == answers | {"repeat": 0, "verdict": "bad", "note": "one too many"}
        # Another verdict alone leaves the note; taken back, it goes with it.
        assert (await editor.execute("merrow.rateAnswer", **answers, verdict="good"))["note"] == "one too many"
        rated = await editor.ask("merrow/evaluation", id=ended["evaluation"])
        assert [row.get("note") for row in rated["rows"]] == ["one too many", *[None] * 5]
        assert await editor.execute("merrow.rateAnswer", **answers, verdict=None) == answers | {
            "repeat": 0,
            "verdict": None,
        }
        assert "note" not in await editor.execute("merrow.rateAnswer", **answers, verdict="bad")
        for wrong in (5, "x" * 2001):
            with pytest.raises(JsonRpcException, match="`note` must be a text of at most 2,000 characters"):
                await editor.execute("merrow.rateAnswer", **answers, verdict="bad", note=wrong)
        await editor.execute("merrow.rateAnswer", **answers, verdict=None)
        with pytest.raises(JsonRpcException, match="has no answer to q9"):
            await editor.execute("merrow.rateAnswer", **answers | {"item": "q9"}, verdict="good")
        with pytest.raises(JsonRpcException, match="must be good, bad or null"):
            await editor.execute("merrow.rateAnswer", **answers, verdict="fine")

        compared = await editor.execute("merrow.compareEvaluations", a=ended["evaluation"], b=again["evaluation"])
        assert (compared["difference"], compared["better"], compared["worse"]) == (0.0, [], [])
        assert "Difference +0.000" in compared["text"]
        assert f"{ended['evaluation']} was scored by numeric, and" in compared["text"]
        assert await editor.execute("merrow.deleteEvaluation", id=ended["evaluation"]) == {
            "evaluation": ended["evaluation"]
        }
        assert [one["evaluation"] for one in await editor.execute("merrow.evaluations")] == [again["evaluation"]]
        assert not list((tmp_path / ".state" / "evaluations").glob(f"{ended['evaluation']}*"))
        with pytest.raises(JsonRpcException, match="There is no evaluation"):
            await editor.ask("merrow/evaluation", id=ended["evaluation"])


@pytest.mark.parametrize("dry", [True, False])
def test_what_is_opened_for_an_evaluation_or_for_its_forecast_is_closed_with_it(
    open_editor: Callable[..., Editor], tmp_path: Path, dry: bool
) -> None:
    data(tmp_path, 1)
    editor = open_editor(MODERN, tmp_path)
    asked = {"uri": editor.open(SINGLE), **OWN, "baseUrl": "offline", "dryRun": dry}
    with patch.object(BaseMetric, "close", autospec=True) as closed:
        editor.request("workspace/executeCommand", {"command": "merrow.evaluate", "arguments": [asked]})
        assert closed.call_count == 1


@pytest.mark.slow
@pytest.mark.parametrize("by", ["command", "button", "request", "evaluation"])
async def test_a_cancelled_evaluation_keeps_what_it_has_and_goes_on(tmp_path: Path, by: str) -> None:
    data(tmp_path)
    async with OpenAIServer(answer) as server, editor_on(tmp_path, server) as editor:
        watched = Watched(editor)
        server.answer = slow
        uri = editor.open(SINGLE)
        params = types.ExecuteCommandParams("merrow.evaluate", [{"uri": uri, **OWN}])
        method = types.WORKSPACE_EXECUTE_COMMAND
        running = asyncio.ensure_future(editor.client.protocol.send_request_async(method, params, msg_id="it"))
        news = await watched.until(5)
        async with asyncio.timeout(WAIT):
            while len(server.requests) < 6:  # else the last one may be cancelled before it was asked for
                await asyncio.sleep(0.01)
        # The server answers meanwhile.
        assert "Evaluation" not in await editor.hover(uri, 2, 4)
        assert [one["here"] for one in await editor.execute("merrow.evaluations")] == [True]
        if by == "command":
            assert await editor.execute("merrow.cancel", uri=uri) == {"cancelled": [news["evaluation"]]}
        elif by == "evaluation":
            assert await editor.execute("merrow.cancel", run=news["evaluation"]) == {"cancelled": [news["evaluation"]]}
        elif by == "button":
            (token,) = editor.client.progress_reports
            editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
        else:
            editor.client.cancel_request(types.CancelParams("it"))
            with pytest.raises(JsonRpcException) as caught:
                await asyncio.wait_for(running, WAIT)
            assert caught.value.code == types.LSPErrorCodes.RequestCancelled
        if by != "request":
            ended = await asyncio.wait_for(running, WAIT)
            # What was in flight is an item without an answer, for it may be paid.
            assert (ended["status"], ended["answers"]["unanswered"], ended["missing"]) == ("cancelled", 1, 0)
            assert ended["usage"]["calls"] == 6
        async with asyncio.timeout(WAIT):
            while (await editor.execute("merrow.evaluations"))[0]["status"] != "cancelled":
                await asyncio.sleep(0.05)
        server.answer = answer
        asked = len(server.requests)
        done = await editor.execute("merrow.evaluate", resume=news["evaluation"], agreed=True)
        assert (done["status"], done["missing"], done["answers"]["right"]) == ("finished", 0, 5)
        assert len(server.requests) == asked + 1


@pytest.mark.slow
async def test_two_workflows_are_evaluated_and_resumed_at_once_and_none_twice(tmp_path: Path) -> None:
    data(tmp_path)
    async with OpenAIServer(slow) as server, editor_on(tmp_path, server) as editor:
        watched = Watched(editor)
        uris = [editor.open(SINGLE, "one.mmd"), editor.open(SINGLE.replace("first", "other"), "other.mmd")]
        running = [editor.begin("merrow.evaluate", uri=uri, **OWN) for uri in uris]
        async with asyncio.timeout(WAIT):
            while len(found := {news["evaluation"] for news in watched.news if news["done"] == 5}) < 2:
                await asyncio.sleep(0.05)
        for uri in uris:
            with pytest.raises(JsonRpcException, match=r"\w+.mmd is being evaluated already; stop that first."):
                await editor.execute("merrow.evaluate", uri=uri, **OWN)
        assert set((await editor.execute("merrow.cancel"))["cancelled"]) == found
        assert [one["status"] for one in await asyncio.gather(*running)] == ["cancelled"] * 2
        server.answer = answer
        going = (editor.execute("merrow.evaluate", resume=one, agreed=True) for one in found)
        assert [one["status"] for one in await asyncio.gather(*going)] == ["finished"] * 2


@pytest.mark.slow
async def test_the_lens_tells_the_last_evaluation_and_whether_the_workflow_changed_since(tmp_path: Path) -> None:
    data(tmp_path)
    async with OpenAIServer(answer) as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(SINGLE)
        assert await lenses(editor, uri) == []
        ended = await editor.execute("merrow.evaluate", uri=uri, **OWN)
        found = await lens(editor, uri, "Score 0.833")
        assert "before this change" not in found.title
        assert "n = 6" in found.title
        assert list(found.arguments or ()) == [{"id": ended["evaluation"]}]
        hovered = await editor.hover(uri, 0, 3)
        assert "own.jsonl" in hovered
        assert "- metric: `numeric`" in hovered
        assert "m-1 at http://" in hovered
        editor.change(uri, SINGLE.replace("first", "another"))
        await lens(editor, uri, "before this change")
        assert "does something else now" in await editor.hover(uri, 0, 3)
        # Neither an id nor a comment changes what the workflow does.
        editor.change(uri, SINGLE.replace(" A", " FIRST") + "    %% words\n")
        async with asyncio.timeout(WAIT):
            while "before this change" in (await lens(editor, uri, "Score 0.833")).title:
                await asyncio.sleep(0.1)


async def test_who_shows_no_runs_is_asked_for_money_and_told_the_score(tmp_path: Path) -> None:
    data(tmp_path)
    async with OpenAIServer(answer) as server, editor_on(tmp_path, server, capabilities=MODERN) as editor:
        asked: list[str] = []
        answers: list[types.MessageActionItem | None] = [None, types.MessageActionItem("Evaluate")]

        def agree(params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
            asked.append(params.message)
            return answers.pop(0)

        editor.client.protocol.fm.add_builtin_feature(types.WINDOW_SHOW_MESSAGE_REQUEST, agree)
        uri = editor.open(SINGLE)
        own = OWN | {"agreed": None}
        with pytest.raises(JsonRpcException, match="Nothing was evaluated"):
            await editor.execute("merrow.evaluate", uri=uri, **own)
        assert server.requests == []
        ended = await editor.execute("merrow.evaluate", uri=uri, **own)
        assert ended["status"] == "finished"
        assert "6 calls to http://" in asked[0]
        assert any("Score 0.833" in message.message for message in editor.client.messages)


@pytest.mark.thinned(24)
@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ({}, "`dataset` must be"),
        ({"dataset": "none.jsonl"}, "none.jsonl"),
        ({"dataset": "own.jsonl"}, "answer"),
        (OWN | {"limit": 0}, "`limit` must be a whole number from 1"),
        (OWN | {"mapping": {"problem": 3}}, "`mapping` must have texts"),
        (OWN | {"items": []}, "`items` must name at least one id"),
        (OWN | {"metric": "python", "metricOptions": {"file": "none.py"}}, "/none.py: The metric's file can't be read"),
        (OWN | {"metric": "exakt"}, "exakt"),
        (OWN | {"budget": {"usd": 1, "eur": 2}}, "`budget` has"),
        (OWN | {"budget": {"tokens": 1}}, "not enough for one item"),
        ({"resume": "nothing"}, "There is no evaluation"),
    ],
)
@pytest.mark.thinned(24)
async def test_what_cant_be_evaluated_is_said_before_the_first_call(
    tmp_path: Path, argument: dict[str, Any], says: str
) -> None:
    data(tmp_path)
    async with OpenAIServer(answer) as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(SINGLE)
        with pytest.raises(JsonRpcException, match=says):
            await editor.execute("merrow.evaluate", uri=uri, **argument)
        assert server.requests == []
        assert await editor.execute("merrow.evaluations") == []


async def test_nothing_is_evaluated_in_a_workspace_that_is_not_trusted(tmp_path: Path) -> None:
    data(tmp_path)
    async with OpenAIServer(answer) as server, editor_on(tmp_path, server, options={"trusted": False}) as editor:
        uri = editor.open(SINGLE)
        for argument in (OWN, OWN | {"dryRun": True}, {"resume": "x"}):
            with pytest.raises(JsonRpcException, match="not trusted"):
                await editor.execute("merrow.evaluate", uri=uri, **argument)
        assert server.requests == []


@pytest.mark.slow
async def test_all_that_is_said_goes_with_an_evaluation_and_who_shows_no_runs_is_told_each_step(tmp_path: Path) -> None:
    data(tmp_path)
    (tmp_path / "score.py").write_text("def score(inputs, gold, output):\n    return float(gold == output)\n")
    own, score = tmp_path / "own.jsonl", tmp_path / "score.py"
    known = {"dataset": str(own), "gold": "answer", "metric": "numeric", "repeat": 1, "seed": 42, "fresh": False}
    said: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"items": ["q1"]}, {"items": ["q1"]}),
        (
            {"mapping": {"problem": "problem"}, "part": "all", "limit": 2, "seed": 0, "repeat": 2, "concurrency": 1},
            {"mapping": {"problem": "problem"}, "part": "all", "limit": 2, "seed": 0, "repeat": 2, "concurrency": 1},
        ),
        (
            {"dataset": own.as_uri(), "limit": 1, "model": "m-9", "fresh": True},
            {"limit": 1, "model": "m-9", "fresh": True},
        ),
        (
            {"dataset": str(own), "limit": 1, "metric": "python", "metricOptions": {"file": "score.py"}},
            {"limit": 1, "metric": "python", "metricOptions": {"file": str(score)}},
        ),
        ({"items": ["q3", "q4"], "metric": "contains"}, {"items": ["q3", "q4"], "metric": "contains"}),
    ]
    async with OpenAIServer(answer) as server, editor_on(tmp_path, server, capabilities=MODERN) as editor:

        def told() -> list[tuple[types.MessageType, str]]:
            found = [(message.type, message.message) for message in editor.client.messages]
            editor.client.messages.clear()
            return found

        info = types.MessageType.Info
        uri = editor.open(SINGLE)
        forecast = await editor.execute("merrow.evaluate", uri=uri, **OWN, dryRun=True)
        calls = f"6 calls to {server.origin}, for a price that is not known; what is known already costs nothing."
        assert forecast["text"] == f"6 items of own.jsonl (part all): {calls}"
        assert told() == [(info, f"{forecast['text']} No call was made.")]
        agreed = {"agreed": False, "items": ["q1"]}
        for answered, why in (
            (OSError("nobody"), f"{server.origin}, for .* Execute the command with `agreed: true` to evaluate"),
            (types.MessageActionItem("Go"), "Nothing was evaluated"),
        ):

            def show(_: types.ShowMessageRequestParams, answered: Any = answered) -> Any:
                if isinstance(answered, OSError):
                    raise answered
                return answered

            editor.client.protocol.fm.add_builtin_feature(types.WINDOW_SHOW_MESSAGE_REQUEST, show)
            with pytest.raises(JsonRpcException, match=why):
                await editor.execute("merrow.evaluate", uri=uri, **(OWN | agreed))
        assert (server.requests, told()) == ([], [])
        ids = []
        for more, kept in said:
            ended = await editor.execute("merrow.evaluate", uri=uri, **(OWN | more))
            ids.append(ended["evaluation"])
            assert (ended["status"], ended["asked"]) == ("finished", known | kept)
            ((kind, text),) = told()
            assert kind is info
            assert text.startswith(f"Score {ended['score']:.3f} [")
        assert len(server.requests) == 1 + 1 + 1 + 0 + 2, "what was asked already is known, unless it is asked fresh"
        one, other = ids[0], ids[-1]
        page = await editor.execute("merrow.showEvaluation", id=other)
        assert page["text"].startswith(f"Evaluation {other} of flow.mmd\ndata own.jsonl (part all); metric contains")
        ((kind, text),) = told()
        assert (kind, text.partition(" [")[0]) == (info, "Score 0.500")
        compared = await editor.execute("merrow.compareEvaluations", a=one, b=other)
        assert told() == [(info, compared["text"])]
        rows = (await editor.ask("merrow/evaluation", id=ids[1]))["rows"]
        rated = {"evaluation": ids[1], "item": rows[0]["item"]}
        noted = await editor.execute("merrow.rateAnswer", **rated, repeat=1, verdict="good", note="x" * 2000)
        assert noted == rated | {"repeat": 1, "verdict": "good", "note": "x" * 2000}
        # The same answer to the same item in another repeat has the same verdict and note.
        first = await editor.execute("merrow.rateAnswer", **rated, verdict="bad")
        assert first == noted | {"repeat": 0, "verdict": "bad"}
        assert await editor.execute("merrow.deleteEvaluation", id=ids[2]) == {"evaluation": ids[2]}
        listed = await editor.execute("merrow.evaluations", limit=3)
        assert [one["evaluation"] for one in listed] == [ids[4], ids[3], ids[1]]
        item = types.TextDocumentItem("untitled:Flow-1", "mermaid", 1, SINGLE)
        editor.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        with pytest.raises(
            JsonRpcException, match="Save the workflow first: its evaluations are kept by its file"
        ) as caught:
            await editor.execute("merrow.evaluate", uri="untitled:Flow-1", **OWN)
        with pytest.raises(JsonRpcException, match="Save the workflow first"):
            await editor.execute("merrow.answerFields", uri="untitled:Flow-1")
        assert caught.value.data == {"code": "workflow"}


async def test_a_set_that_comes_with_merrow_is_meant_where_the_folder_has_no_file_of_that_name(tmp_path: Path) -> None:
    async with editor_on(tmp_path) as editor:
        uri = editor.open(SINGLE)
        asked = {"uri": uri, "dataset": "arithmetic", "metric": "numeric", "limit": 1, "dryRun": True}
        shipped = (await editor.execute("merrow.evaluate", **asked))["dataset"]
        assert (Path(shipped).name, Path(shipped).is_relative_to(tmp_path)) == ("arithmetic.jsonl", False)
        (tmp_path / "arithmetic").write_text('{"problem": "1", "gold": "1"}\n')
        with pytest.raises(JsonRpcException, match=str(tmp_path / "arithmetic")):
            await editor.execute("merrow.evaluate", **asked)


async def test_an_evaluation_that_stops_early_is_told_as_a_warning_and_goes_on_by_its_id(tmp_path: Path) -> None:
    data(tmp_path)
    async with OpenAIServer(slow) as server, editor_on(tmp_path, server, capabilities=MODERN) as editor:
        watched = Watched(editor)
        evaluating = editor.begin("merrow.evaluate", uri=editor.open(SINGLE), **OWN)
        news = await watched.until(5)
        with pytest.raises(JsonRpcException) as caught:
            await editor.execute("merrow.evaluate", uri=editor.uri("flow.mmd"), **OWN)
        assert caught.value.message == "flow.mmd is being evaluated already; stop that first."
        await editor.execute("merrow.cancel")
        ended = await evaluating
        (message,) = editor.client.messages
        assert message.type is types.MessageType.Warning
        assert message.message.startswith(f"Evaluation {ended['evaluation']} was cancelled. Score ")
        server.answer = answer
        editor.client.messages.clear()
        dry = await editor.execute("merrow.evaluate", resume=news["evaluation"], dryRun=True)
        assert (dry["items"], dry["calls"]["least"]) == (6, 1)
        done = await editor.execute("merrow.evaluate", resume=news["evaluation"], agreed=True)
        assert (done["evaluation"], done["status"], done["missing"]) == (ended["evaluation"], "finished", 0)


async def test_people_and_tools_are_stood_in_for_as_the_editor_says(tmp_path: Path) -> None:
    text = (
        "---\nworkflow:\n  tools: [mail.count]\n---\nflowchart TD\n    PROBLEM([Text]):::Interface\n"
        "    RETURN([Number]):::Interface\n"
        '    COUNT[["Tool<br/>(tool: mail.count)"]]\n    ASK@{op: Human, ask: "Which text?"}\n'
        "    PROBLEM --> ASK -->|text| COUNT -->|letters:result| RETURN\n    classDef Interface fill:#eee\n"
    )
    (tmp_path / PINS_FILE).write_text(NO_PINS.with_tools([pinned("mail", tool) for tool in TOOLS]).text())
    (tmp_path / "own.jsonl").write_text('{"id": "q", "problem": "x", "said": "four", "answer": "4"}\n')
    (tmp_path / "fakes.py").write_text(
        "def mail_count(text, loud=None):\n    return {'letters': len(text), 'first': ''}\n"
    )
    async with OpenAIServer(answer) as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(text)
        for given, said in (
            ({}, "There is no server `mail`"),
            ({"fakeTools": "fakes.py"}, "Node ASK asks a person"),
            ({"fakeTools": "none.py", "answers": {"ASK": "said"}}, "none.py"),
            ({"tools": "often", "answers": {"ASK": "said"}}, "--tools must be live or replay"),
            ({"answers": {"ASK": 7}}, "`answers` must have texts"),
        ):
            with pytest.raises(JsonRpcException, match=re.escape(said)):
                await editor.execute("merrow.evaluate", uri=uri, **OWN, **given)
        ended = await editor.execute("merrow.evaluate", uri=uri, **OWN, fakeTools="fakes.py", answers={"ASK": "said"})
        assert (ended["status"], ended["answers"]["right"]) == ("finished", 1)
        assert ended["tools"]["fake"] == "fakes.py"


TRIAGE = """---
workflow:
  types:
    Category: [billing, sales]
    Triage: {category: Category, reply: Text}
---
flowchart LR
  PROBLEM([Mail]):::Interface
  SORT["Custom<br/>(prompt: Sort this mail., returns: Triage)"]
  RETURN([Answer]):::Interface
  PROBLEM -->|input| SORT
  SORT --> RETURN
  classDef Interface fill:#e2e2f2
"""


def triaged(request: Received) -> Step:
    return Reply(json.dumps({"category": "billing", "reply": "sorry"}))


async def test_fields_are_offered_scored_and_written_for_every_row(tmp_path: Path) -> None:
    (tmp_path / "mails.csv").write_text("id,problem,kind\na,One,billing\nb,Two,sales\n")
    async with OpenAIServer(triaged) as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(TRIAGE)
        choices = await editor.execute("merrow.answerFields", uri=uri)
        assert choices["fields"] == [
            {"name": "category", "type": "Category", "metric": "exact"},
            {"name": "reply", "type": "Text", "metric": "exact"},
        ]
        metrics = {metric["name"]: metric for metric in choices["metrics"]}
        assert {"name": "rubric", "needed": True, "file": False} in metrics["judge"]["options"]
        assert (metrics["labels"]["whole"], metrics["exact"]["whole"]) == (True, False)
        assert {"arithmetic", "mails"} <= set(choices["datasets"])

        mails = {"uri": uri, "dataset": "mails.csv"}
        dry = await editor.execute("merrow.batch", **mails, output="out.csv", dryRun=True)
        assert (dry["items"], server.requests) == (2, [])
        batch = await editor.execute("merrow.batch", **mails, output="out.csv", agreed=True)
        assert (batch["rows"]["answered"], Path(batch["output"])) == (2, tmp_path / "out.csv")
        lines = (tmp_path / "out.csv").read_text().splitlines()
        assert lines[1] == "a,One,billing,billing,sorry,answered,,"
        assert await editor.execute("merrow.evaluations") == []

        asked = {"golds": {"category": "kind"}, "metrics": {"reply": "contains"}, "agreed": True}
        with pytest.raises(JsonRpcException, match="here is no gold answer"):
            await editor.execute("merrow.evaluate", **mails, **asked)
        ended = await editor.execute("merrow.evaluate", **mails, golds={"category": "kind"}, agreed=True)
        assert ended["fields"]["category"]["confusion"] == {"billing": {"billing": 1}, "sales": {"billing": 1}}
        assert ended["asked"]["golds"] == {"category": "kind"}
        assert len(server.requests) == 2
        report = await editor.ask("merrow/evaluation", id=ended["evaluation"])
        assert [row["fields"]["category"]["gold"] for row in report["rows"]] == ["sales", "billing"]


async def test_the_recipes_of_a_folder_are_played_with_and_told_of_where_nothing_is_played(tmp_path: Path) -> None:
    pattern = (Path(__file__).parents[3] / "examples" / "patterns" / "react_textcraft.mmd").read_text("utf-8")
    recipes = tmp_path / "games" / "recipes"
    recipes.mkdir(parents=True)
    async with OpenAIServer(triaged) as server, editor_on(tmp_path, server) as editor:
        asked = {
            "uri": editor.open(pattern, "games/flow.mmd"),
            "dataset": "textcraft",
            "limit": 1,
            "recipes": "recipes",
            "dryRun": True,
        }
        with pytest.raises(JsonRpcException, match="recipes"):
            await editor.execute("merrow.evaluate", **asked)
        for number in range(5):
            made = {"type": "crafting_shapeless", "ingredients": [f"item_{number}"], "result": f"item_{number + 1}"}
            (recipes / f"{number}.json").write_text(json.dumps(made))
        assert (await editor.execute("merrow.evaluate", **asked))["items"] == 1
        (tmp_path / "mails.csv").write_text("id,problem,kind\na,One,billing\n")
        plain = {"uri": editor.open(TRIAGE, "plain.mmd"), "dataset": "mails.csv", "golds": {"category": "kind"}}
        with pytest.raises(JsonRpcException, match="textcraft"):
            await editor.execute("merrow.evaluate", **plain, recipes=str(recipes), dryRun=True)
