"""Searches as an editor has them: agreed to, watched, stopped, gone on with, listed, reported, shown above the workflow."""

from __future__ import annotations

import asyncio
import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from tests.optimizer.suggestions.scripted import candidate, prompt, said, verdicts
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Step
from tests.server.lsp.editor import MODERN
from tests.server.lsp.running import WAIT, RunningEditor, editor_on
from tests.server.searching import SINGLE, lucky

from merrow_optimizer.search.available import why_not

OWN = {
    "dataset": "own.jsonl",
    "gold": "answer",
    "metric": "numeric",
    "agreed": True,
    "strategy": "climb",
    "out": "found",
}


def data(folder: Path, count: int = 90) -> None:
    rows = [{"id": f"q{n}", "problem": f"What is {n} plus {n}?", "answer": str(2 * n)} for n in range(count)]
    (folder / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


class Watched:
    """What an editor was told of searches."""

    def __init__(self, editor: RunningEditor) -> None:
        self.news: list[dict[str, Any]] = []
        editor.client.protocol.fm.add_builtin_feature("merrow/searchEvent", self.news.append)

    async def until(self, done: int, says: str = "") -> dict[str, Any]:
        async with asyncio.timeout(WAIT):
            while not self.news or self.news[-1]["done"] < done or says not in self.news[-1]["text"]:
                await asyncio.sleep(0.01)
        return self.news[-1]


async def lens(editor: RunningEditor, uri: str) -> types.Command:
    """The lens of a better version, as soon as there is one."""
    async with asyncio.timeout(WAIT):
        while True:
            params = types.CodeLensParams(types.TextDocumentIdentifier(uri))
            for found in await editor.client.text_document_code_lens_async(params) or []:
                if found.command is not None and found.command.command == "merrow.showBetter":
                    return found.command
            await asyncio.sleep(0.1)


@pytest.mark.slow
async def test_a_search_is_watched_listed_reported_and_above_the_workflow(tmp_path: Path) -> None:
    data(tmp_path)
    async with OpenAIServer(lucky) as server, editor_on(tmp_path, server) as editor:
        watched = Watched(editor)
        uri = editor.open(SINGLE)
        asked = {**OWN, "uri": uri, "evaluations": 500}
        forecast = await editor.execute("merrow.optimize", **asked, dryRun=True)
        assert "60 items of" in forecast["text"]
        assert "30 set aside for the end" in forecast["text"]
        assert (forecast["items"], forecast["held_out_items"], forecast["free"]) == (60, 30, False)
        assert server.requests == []
        assert await editor.execute("merrow.optimizations") == []

        ended = await editor.execute("merrow.optimize", **asked)
        assert (ended["status"], ended["uri"], ended["here"]) == ("finished", uri, False)
        assert watched.news[0]["text"] == "nothing scored yet; 0 candidates"
        assert watched.news[-1]["search"] == ended["search"]
        assert watched.news[-1]["done"] == ended["answers"]
        assert "best so far: round" in watched.news[-1]["text"]
        assert any("reading 30 held-out items" in news["text"] for news in watched.news)
        messages = [report.message for report in editor.progress if report.kind == "report"]
        assert any("answers, best so far" in (message or "") for message in messages)
        assert ended["held_out"]["p"] < 0.05
        assert (tmp_path / "found" / "report.html").exists()

        assert [one["search"] for one in await editor.execute("merrow.optimizations", uri=uri)] == [ended["search"]]
        report = await editor.execute("merrow.optimizationReport", id=ended["search"])
        assert report["html"] == (tmp_path / "found" / "report.html").read_text("utf-8")
        assert "Held out: best" in report["text"]

        found = await lens(editor, uri)
        assert found.title.startswith("Better version: +0.")
        assert found.title.endswith("(held-out, p < 0.001)")
        assert list(found.arguments or []) == [{"id": ended["search"]}]
        better = await editor.execute("merrow.showBetter", id=ended["search"])
        assert better["before"] == SINGLE
        assert better["after"] != SINGLE
        assert Path(better["file"]).name == "best.mmd"
        assert Path(better["file"]).parent == tmp_path / "found"


@pytest.mark.slow
async def test_a_stopped_search_keeps_what_it_has_and_goes_on(tmp_path: Path) -> None:
    data(tmp_path)

    def slow(request: Received) -> Step:
        step = lucky(request)
        return Reply(step.text, delay=0.02) if isinstance(step, Reply) else step

    async with OpenAIServer(slow) as server, editor_on(tmp_path, server) as editor:
        watched = Watched(editor)
        uri = editor.open(SINGLE)
        asked = {**OWN, "uri": uri, "evaluations": 400}
        searching = asyncio.ensure_future(editor.execute("merrow.optimize", **asked))
        news = await watched.until(30, "best so far: round")
        with pytest.raises(JsonRpcException, match="is being searched for already"):
            await editor.execute("merrow.optimize", **asked)
        assert await editor.execute("merrow.cancel", run=news["search"]) == {"cancelled": [news["search"]]}
        stopped = await searching
        assert stopped["status"] == "cancelled"
        assert 30 <= stopped["answers"] < 340
        better = await editor.execute("merrow.showBetter", id=news["search"])
        assert Path(better["file"]).parent == tmp_path / "found"
        assert Path(better["file"]).name != "best.mmd", "that is written at the end"
        assert better["after"] != SINGLE
        assert Path(better["file"]).read_text("utf-8").endswith(better["after"]), "below comments on its score"
        calls = len(server.requests)

        ended = await editor.execute("merrow.optimize", resume=news["search"], agreed=True)
        assert (ended["search"], ended["status"]) == (news["search"], "finished")
        assert len(server.requests) > calls
        assert len(await editor.execute("merrow.optimizations")) == 1


@pytest.mark.slow
async def test_a_client_without_runs_is_asked_and_told_in_words(tmp_path: Path) -> None:
    data(tmp_path)
    async with OpenAIServer(lucky) as server, editor_on(tmp_path, server, capabilities=MODERN) as editor:
        asked: list[str] = []
        answers: list[types.MessageActionItem | None] = [None, types.MessageActionItem("Search")]

        def agree(params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
            asked.append(params.message)
            return answers.pop(0)

        editor.client.protocol.fm.add_builtin_feature(types.WINDOW_SHOW_MESSAGE_REQUEST, agree)
        wanted = {**OWN, "uri": editor.open(SINGLE), "evaluations": 300, "agreed": False}
        with pytest.raises(JsonRpcException, match="Nothing was searched for"):
            await editor.execute("merrow.optimize", **wanted)
        assert server.requests == []
        ended = await editor.execute("merrow.optimize", **wanted)
        assert ended["status"] == "finished"
        assert len(asked) == 2
        assert "That affords about" in asked[1]


@pytest.mark.thinned(24)
@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"strategy": "magic"}, "`strategy` must be one of guided, evolve"),
        ({"proposer": "me"}, "`proposer` must be one of moves, model, both"),
        ({"optimizerModel": 4}, "`optimizerModel` must be a text"),
        ({"proposer": "moves", "goal": "shorter"}, "--goal go with --proposer model or both"),
        ({"proposer": "model"}, "goes with the strategies guided, evolve and mcts"),
        ({"objective": "fun"}, "`objective` must be one of score, pareto"),
        ({"evaluations": 0}, "`evaluations` must be a whole number from 1"),
        ({"maxCostPerItem": 0}, "`maxCostPerItem` must be above 0"),
        ({"small": "yes"}, "`small` must be true or false"),
        ({"sure": 1}, "`sure` must be between 0 and 1"),
        ({"constants": {"alpha": "x"}}, "`constants` must be an object of numbers"),
        ({"strategy": "evolve", "constants": {"beta": 1}}, "has no constant 'beta'"),
        ({"evaluations": 5}, "is too small to learn anything"),
        ({"resume": "nothing"}, "There is no search"),
    ],
)
@pytest.mark.thinned(32)
async def test_what_can_not_be_searched_is_refused_in_a_sentence(
    tmp_path: Path, more: dict[str, Any], says: str
) -> None:
    data(tmp_path)
    async with OpenAIServer(lucky) as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(SINGLE)
        with pytest.raises(JsonRpcException) as refused:
            await editor.execute("merrow.optimize", **{**OWN, "uri": uri, "evaluations": 500, **more})
        assert says in str(refused.value)
        assert server.requests == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "bound", [{"evaluations": 150}, {"budget": {"tokens": 10_000}}], ids=lambda bound: next(iter(bound))
)
async def test_a_search_that_found_nothing_has_no_better_version(tmp_path: Path, bound: dict[str, Any]) -> None:
    data(tmp_path, 24)
    async with OpenAIServer(lambda _: Reply("7.5")) as server, editor_on(tmp_path, server) as editor:
        watched = Watched(editor)
        uri = editor.open(SINGLE)
        ended = await editor.execute("merrow.optimize", **{**OWN, "uri": uri, **bound})
        assert ended["crown"] == 0
        total = watched.news[-1]["total"]
        assert 100 < total < 150 if "evaluations" in bound else total == 0
        (*_, last) = (report.message for report in editor.progress if report.kind == "report")
        assert re.fullmatch(rf"[\d,]+{f' of {total}' if total else ''} answers, best so far: .*", last or "")
        assert watched.news[-1]["text"].startswith("best so far: the start, estimated 0.000; ")
        assert {(news["crown"], news["told"]) for news in watched.news} <= {(0, None), (0, 0.0)}
        with pytest.raises(JsonRpcException, match="has found no better workflow"):
            await editor.execute("merrow.showBetter", id=ended["search"])


@pytest.mark.slow
async def test_a_model_proposes_where_the_editor_says_so(tmp_path: Path) -> None:
    data(tmp_path)
    asked_models: list[str] = []

    def proposing(request: Received) -> Step:
        model = request.body["model"]
        asked_models.append(model)
        if model == "judge":
            return Reply(verdicts(request, lambda _: 7))
        if model == "opt":
            return Reply(said(candidate(prompt("Add them with care."), title="Care")))
        return lucky(request)

    async with OpenAIServer(proposing) as server, editor_on(tmp_path, server) as editor:
        models = {"proposer": "both", "strategy": "guided", "optimizerModel": "opt", "judgeModel": "judge"}
        wanted = {**OWN, **models, "uri": editor.open(SINGLE), "evaluations": 300, "goal": "answers of one word"}
        forecast = await editor.execute("merrow.optimize", **wanted, dryRun=True)
        assert (forecast["proposer"], forecast["free"]) == ("both", False)
        ended = await editor.execute("merrow.optimize", **wanted)
        assert ended["status"] == "finished"
        assert {"opt", "judge"} <= set(asked_models)
        questions = [json.dumps(one.body["messages"]) for one in server.requests if one.body["model"] == "opt"]
        assert all("answers of one word" in question for question in questions)
        report = await editor.execute("merrow.optimizationReport", id=ended["search"])
        assert "Care" in report["html"]


@pytest.mark.slow
async def test_a_search_that_was_taken_out_is_listed_no_more(tmp_path: Path) -> None:
    data(tmp_path)
    async with OpenAIServer(lucky) as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(SINGLE)
        ended = await editor.execute("merrow.optimize", **{**OWN, "uri": uri, "evaluations": 500})
        await lens(editor, uri)
        assert await editor.execute("merrow.deleteOptimization", id=ended["search"]) == {"search": ended["search"]}
        assert await editor.execute("merrow.optimizations") == []
        assert (tmp_path / "found" / "round_000.mmd").exists()
        with pytest.raises(JsonRpcException, match="There is no search"):
            await editor.execute("merrow.deleteOptimization", id=ended["search"])
        params = types.CodeLensParams(types.TextDocumentIdentifier(uri))
        async with asyncio.timeout(WAIT):
            while any(
                one.command is not None and one.command.command == "merrow.showBetter"
                for one in await editor.client.text_document_code_lens_async(params) or []
            ):
                await asyncio.sleep(0.1)


async def test_strategies_are_told_with_what_they_lack_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data(tmp_path)
    async with OpenAIServer(lucky) as server, editor_on(tmp_path, server) as editor:
        told = {one["strategy"]: one["missing"] for one in await editor.execute("merrow.strategies")}
    assert next(iter(told)) == "climb"
    assert told["climb"] is None
    assert (told["guided"] is None) is (find_spec("numpy") is not None)
    monkeypatch.setattr("merrow_optimizer.search.available.find_spec", lambda _: None)
    said = why_not("guided")
    assert said is not None
    assert "-m pip install 'numpy>=" in said
