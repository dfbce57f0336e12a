"""Reproductions and plans in an editor: forecast, agreed to, followed, listed, cancelled, continued, reported, deleted."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException
from tests.runtime.openai_server import Hang, OpenAIServer, Received, Reply, Status, Step
from tests.server.lsp.running import WAIT, editor_on
from tests.server.reproducing import PLAN, answer, tiny_data

LOOK: dict[str, Any] = {"paper": "mermaidflow", "rows": ["round1-gsm8k", "round1-math"], "data": "data", "items": 2}
LOOK |= {"otherData": True}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny_data(tmp_path / "data")
    (tmp_path / ".config").mkdir()
    (tmp_path / ".config" / "config.toml").write_text("[models]\nmax_tokens = 300\n")
    return tmp_path


async def test_a_reproduction_is_forecast_followed_listed_reported_and_deleted(folder: Path) -> None:
    async with OpenAIServer(answer) as server, editor_on(folder, server) as editor:
        forecast = await editor.execute("merrow.reproduce", **LOOK, dryRun=True)
        assert forecast["estimate"]["calls"] > 0
        assert "2 rows can be run" in forecast["text"]
        assert await editor.execute("merrow.reproductions") == []
        assert server.requests == []

        ended = await editor.execute("merrow.reproduce", **LOOK, agreed=True)
        assert ended["status"] == "finished"
        rows = {row["row"]: row for row in ended["rows"]}
        assert {rows[name]["verdict"] for name in LOOK["rows"]} == {"LOOK"}
        assert ended["usage"]["calls"] == len(server.requests)
        (shown,) = editor.client.progress_reports.values()
        assert [(one.message, one.percentage) for one in shown if one.message] == [
            *zip(forecast["order"], (0, 50), strict=True),
            ("the table", 100),
        ]

        listed = await editor.execute("merrow.reproductions")
        assert [one["reproduction"] for one in listed] == ["repro/mermaidflow"]
        report = await editor.execute("merrow.reproductionReport", id="repro/mermaidflow")
        assert report["html"].startswith("<!DOCTYPE html>")
        assert "round1-gsm8k" in report["text"]
        gone = await editor.execute("merrow.deleteReproduction", id="repro/mermaidflow")
        assert gone == {"reproduction": "repro/mermaidflow"}
        assert len(await editor.execute("merrow.evaluations")) == 2, "its rows stay"


async def test_nothing_is_reproduced_before_the_user_agrees_nor_where_no_row_can_be_run(folder: Path) -> None:
    async with OpenAIServer(answer) as server, editor_on(folder, server) as editor:
        with pytest.raises(JsonRpcException, match="agreed: true"):
            await editor.execute("merrow.reproduce", **LOOK)
        with pytest.raises(JsonRpcException, match=r"None of the rows .* is missing"):
            await editor.execute("merrow.reproduce", **{**LOOK, "data": "nowhere"}, agreed=True)
        assert await editor.execute("merrow.reproductions") == []
        assert server.requests == []


async def test_a_reproduction_is_cancelled_and_continued_and_pays_nothing_twice(folder: Path) -> None:
    def two(request: Received) -> Step:
        return answer(request) if len(server.requests) <= 2 else Hang()

    async with OpenAIServer(two) as server, editor_on(folder, server) as editor:
        begun = asyncio.ensure_future(editor.execute("merrow.reproduce", **LOOK, concurrency=1, agreed=True))
        async with asyncio.timeout(WAIT):
            await server.arrived(3)
        (going,) = await editor.execute("merrow.reproductions")
        assert (going["status"], going["here"]) == ("running", True)
        await editor.execute("merrow.cancel", run=going["reproduction"])
        cancelled = await begun
        assert cancelled["status"] == "cancelled"
        assert cancelled["usage"]["calls"] >= 2, "what was paid is shown"
        assert "stopped" in {row["status"] for row in cancelled["rows"]}
        server.answer = answer
        ended = await editor.execute("merrow.reproduce", resume=going["reproduction"], agreed=True)
        assert ended["status"] == "finished"
        assert (ended["usage"]["calls"], len(server.requests)) == (5, 5), (
            "only the one that was in flight is asked again"
        )


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"paper": "others"}, "mermaidflow, flow, a2flow"),
        ({"rows": [1]}, "`rows`"),
        ({"rows": ["round1-gsm"]}, "did you mean round1-gsm8k"),
        ({"models": {"exec": 1}}, "the roles are exec"),
        ({"models": {"reader": "m"}}, "the roles are exec"),
        ({"items": 0}, "`items`"),
        ({"resume": "repro/none"}, "repro/none"),
        ({"recipes": "data"}, "mermaidflow plays no game"),
        ({"paper": "a2flow", "rows": [], "recipes": "nowhere"}, "nowhere"),
        ({"recipes": 1}, "`recipes`"),
    ],
)
async def test_mistakes_are_said_before_a_call(folder: Path, more: dict[str, Any], says: str) -> None:
    async with OpenAIServer(answer) as server, editor_on(folder, server) as editor:
        with pytest.raises(JsonRpcException, match=says):
            await editor.execute("merrow.reproduce", **{**LOOK, **more}, agreed=True)
        assert server.requests == []


async def test_plans_are_listed_reported_continued_and_deleted(folder: Path) -> None:
    def once(request: Received) -> Step:
        return Reply(json.dumps(PLAN)) if len(server.requests) == 1 else Status(401, "no such key")

    asked = {"task": "Bake bread.", "n": 1, "model": "m", "agreed": True}
    async with OpenAIServer(once) as server, editor_on(folder, server) as editor:
        assert (await editor.execute("merrow.plan", **asked))["plans"], "the judge is what failed"
        (stopped,) = await editor.execute("merrow.plans")
        assert (stopped["status"], stopped["task"]) == ("stopped", "Bake bread.")
        server.answer = answer
        continued = await editor.execute("merrow.plan", resume=stopped["plan"], agreed=True)
        assert continued["plan"] == stopped["plan"]
        assert sum("merrow_plan" in json.dumps(one.body) for one in server.requests) == 1
        report = await editor.execute("merrow.planReport", id=stopped["plan"])
        assert report["report"]["plans"][0]["text"] == continued["plans"][0]["text"]
        assert "8 tasks" in report["text"]
        with pytest.raises(JsonRpcException, match="has ended"):
            await editor.execute("merrow.plan", resume=stopped["plan"], agreed=True)
        await editor.execute("merrow.deletePlan", id=stopped["plan"])
        assert await editor.execute("merrow.plans") == []
