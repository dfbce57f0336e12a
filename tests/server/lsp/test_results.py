"""The rows of evaluations, batches, comparisons and searches, of which an editor asks a page at a time."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Status, Step
from tests.server.lsp.client import on
from tests.server.lsp.running import RunningEditor, editor_on
from tests.server.lsp.test_searches import OWN as SEARCHED
from tests.server.lsp.test_searches import data as sums
from tests.server.searching import SINGLE, lucky
from tests.server.test_scored_fields import FLOW, MAILS, answer

MAPPED = {"dataset": "mails.csv", "mapping": {"PROBLEM": "text"}, "agreed": True}
GOLDS = {"category": "kind", "amount": "amount"}


def mails(folder: Path) -> None:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["id", "text", "kind", "urgent", "amount", "reply"])
    writer.writerows([f"m{number}", *mail] for number, mail in enumerate(MAILS))
    (folder / "mails.csv").write_text(text.getvalue())


def other(request: Received) -> Step:
    """Invoice 7 is taken for billing now, and the screen for sales; an empty answer for boxes."""
    text = request.body["messages"][-1]["content"]
    if "Buy" in str(request.body):
        return Reply("no JSON")
    return Reply(
        f'{{"category": "{"billing" if "Invoice" in text else "sales"}", "urgent": true, "amount": 12, "reply": "x"}}'
    )


async def page(editor: RunningEditor, kind: str, identity: str, **more: Any) -> Any:
    return await editor.ask("merrow/results", kind=kind, id=identity, **more)


def column(found: Any, name: str) -> list[Any]:
    at = [one["name"] for one in found["columns"]].index(name)
    return [row["cells"][at] for row in found["rows"]]


async def test_rows_of_an_evaluation_are_paged_sorted_filtered_and_searched(tmp_path: Path) -> None:
    mails(tmp_path)
    async with OpenAIServer(answer) as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(FLOW)
        gates = {"category": 0.9, "amount": 1, "": 0.5}
        ended = await editor.execute("merrow.evaluate", uri=uri, **MAPPED, golds=GOLDS, gates=gates)
        asked = "evaluation", ended["evaluation"]
        first = await page(editor, *asked, head=True, limit=2)
        assert [(one["name"], one["kind"]) for one in first["columns"]] == [
            ("item", "item"),
            ("input PROBLEM", "input"),
            ("answer category", "answer"),
            ("answer amount", "answer"),
            ("expected", "expected"),
            ("verdict", "verdict"),
            ("cost", "cost"),
            ("seconds", "seconds"),
        ]
        assert (first["all"], first["total"], first["verdicts"]) == (4, 4, {"wrong": 1, "right": 3})
        assert (first["head"]["uri"], first["head"]["fields"]["category"]["score"]) == (uri, 0.75)
        assert [(gate["field"], gate["least"], gate["passed"]) for gate in first["head"]["gates"]] == [
            ("category", 0.9, False),
            ("amount", 1, True),
            ("", 0.5, True),
        ]
        assert column(first, "item")[0] == "m1"  # failures first
        assert column(first, "input PROBLEM")[0] == "Invoice 7 came twice"
        assert (first["rows"][0]["wrong"], first["rows"][1]["wrong"]) == (["category"], [])
        assert first["rows"][0]["run"].startswith(ended["evaluation"])
        rest = await page(editor, *asked, offset=2, limit=200)
        assert sorted(column(first, "item") + column(rest, "item")) == ["m0", "m1", "m2", "m3"]
        assert ("head" in rest, rest["offset"]) == (False, 2)

        for sort, descending, items in [
            ("item", False, ["m0", "m1", "m2", "m3"]),
            ("item", True, ["m3", "m2", "m1", "m0"]),
            ("answer amount", False, ["m2", "m1", "m0", "m3"]),  # as numbers: 0, 7, 12, 40
            ("answer amount", True, ["m3", "m0", "m1", "m2"]),
            ("input PROBLEM", False, ["m3", "m0", "m1", "m2"]),
        ]:
            assert column(await page(editor, *asked, sort=sort, descending=descending), "item") == items, sort
        assert column(await page(editor, *asked, sort="verdict", descending=True), "item")[-1] == "m1"
        assert column(await page(editor, *asked, sort="nothing"), "item")[0] == "m1"
        seconds = column(await page(editor, *asked, sort="seconds", descending=True), "seconds")
        assert seconds == sorted(seconds, reverse=True)
        for more, items in [
            ({"verdicts": ["right"]}, ["m0", "m2", "m3"]),
            ({"search": "INVOICE"}, ["m0", "m1"]),
            ({"search": "invoice twice"}, ["m1"]),
            ({"search": "sales"}, ["m1", "m3"]),
            ({"search": "sales", "within": "expected"}, ["m3"]),
            ({"search": "sales", "within": "answer category", "verdicts": ["wrong"]}, ["m1"]),
            ({"field": {"name": "category", "read": "sales"}}, ["m1", "m3"]),
            ({"field": {"name": "category", "read": "sales", "gold": "billing"}}, ["m1"]),
            ({"search": "nowhere"}, []),
            ({"search": "0."}, []),  # only in cost and time
        ]:
            found = await page(editor, *asked, sort="item", **more)
            assert (column(found, "item"), found["total"], found["all"]) == (items, len(items), 4), more
        with pytest.raises(JsonRpcException, match="The field `reply` is not scored"):
            await page(editor, *asked, field={"name": "reply"})

        row = await editor.ask("merrow/result", kind="evaluation", id=asked[1], key=first["rows"][0]["key"])
        assert (row["inputs"], row["status"], row["canRate"]) == ({"PROBLEM": "Invoice 7 came twice"}, "wrong", True)
        assert [(each["name"], each["read"], each["gold"]) for each in row["answers"]] == [
            ("category", "sales", "billing"),
            ("amount", "7", "7"),
        ]
        await editor.execute("merrow.rateAnswer", evaluation=asked[1], item="m1", verdict="good", note="so it is")
        row = await editor.ask("merrow/result", kind="evaluation", id=asked[1], key=first["rows"][0]["key"])
        assert (row["people"], row["note"]) == ("good", "so it is")
        rated = await page(editor, *asked, sort="item")
        assert [each["people"] for each in rated["rows"]] == [None, "good", None, None]
        with pytest.raises(JsonRpcException, match="has no answer to m9"):
            await editor.ask("merrow/result", kind="evaluation", id=asked[1], key="0 m9")
        with pytest.raises(JsonRpcException, match="There is no batch"):
            await page(editor, "batch", "nothing")


async def test_rows_without_an_id_of_their_own_are_known_by_their_line(tmp_path: Path) -> None:
    mails(tmp_path)
    lines = (tmp_path / "mails.csv").read_text().splitlines()
    (tmp_path / "mails.csv").write_text("".join(f"{line.partition(',')[2]}\n" for line in lines))
    async with OpenAIServer(answer) as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(FLOW)
        ended = await editor.execute("merrow.evaluate", uri=uri, **MAPPED, golds=GOLDS)
        shown = await page(editor, "evaluation", ended["evaluation"], sort="item")
        titles = [f"{row['item']} (line {line})" for line, row in enumerate(shown["rows"], start=2)]
        assert column(shown, "item") == titles, "in the order of the file"
        assert column(shown, "input PROBLEM") == [mail[0] for mail in MAILS]
        row = await editor.ask("merrow/result", kind="evaluation", id=ended["evaluation"], key=shown["rows"][3]["key"])
        assert row["title"] == titles[3]
        found = await page(editor, "evaluation", ended["evaluation"], search="(line 4)")
        assert column(found, "item") == [titles[2]]


async def test_batches_are_listed_and_have_rows_and_two_evaluations_are_compared(tmp_path: Path) -> None:
    mails(tmp_path)
    async with OpenAIServer(answer) as server, editor_on(tmp_path, server) as editor:
        uri = editor.open(FLOW)
        batch = await editor.execute("merrow.batch", uri=uri, **MAPPED, output="out.csv")
        [listed] = await editor.execute("merrow.batches")
        assert (listed["batch"], listed["rows"]["answered"], listed["here"]) == (batch["batch"], 4, False)
        assert await editor.execute("merrow.evaluations") == []
        shown = await page(editor, "batch", batch["batch"], head=True, sort="item")
        assert (shown["verdicts"], shown["head"]["uri"]) == ({"answered": 4}, uri)
        assert [one["field"] for one in shown["columns"] if one["kind"] == "answer"] == [
            *("category", "urgent", "amount", "reply")
        ]
        assert column(shown, "answer category") == ["billing", "sales", "technical", "sales"]
        assert column(await page(editor, "batch", batch["batch"]), "item") == ["m0", "m1", "m2", "m3"], "as in the file"
        row = await editor.ask("merrow/result", kind="batch", id=batch["batch"], key=shown["rows"][0]["key"])
        assert (row["canRate"], row["answers"][2]["read"]) == (False, "12")
        with pytest.raises(JsonRpcException, match="is a batch"):
            await page(editor, "evaluation", batch["batch"])

        before = await editor.execute("merrow.evaluate", uri=uri, **MAPPED, golds=GOLDS)
        server.answer = other
        after = await editor.execute("merrow.evaluate", uri=uri, **MAPPED, golds=GOLDS, fresh=True)
        ids = {"kind": "comparison", "id": before["evaluation"], "other": after["evaluation"]}
        found = await editor.ask("merrow/results", **ids, head=True)
        assert found["verdicts"] == {"worse": 2, "same": 2}
        assert (found["head"]["before"]["score"], found["head"]["after"]["score"]) == (0.75, 0.25)
        assert sorted(column(found, "item")[:2]) == ["m2", "m3"]
        by_item = dict(zip(column(found, "item"), found["rows"], strict=True))
        names = [one["name"] for one in found["columns"]]
        row = dict(zip(names, by_item["m2"]["cells"], strict=True))
        assert (row["before answer category"], row["after answer category"], row["turned"]) == (
            *("technical", "sales"),
            "right → wrong",
        )
        assert by_item["m2"]["wrong"] == ["after category", "after amount"]
        assert dict(zip(names, by_item["m3"]["cells"], strict=True))["turned"] == "right → failed"
        whole = await editor.ask("merrow/result", **ids, key="0 m2")
        assert [whole[side]["answers"][0]["read"] for side in ("before", "after")] == ["technical", "sales"]
        assert column(await editor.ask("merrow/results", **ids, verdicts=["same"], sort="item"), "item") == ["m0", "m1"]

        assert await editor.execute("merrow.deleteBatch", id=batch["batch"]) == {"batch": batch["batch"]}
        assert await editor.execute("merrow.batches") == []


async def test_rows_are_read_again_once_a_stopped_batch_went_on(tmp_path: Path) -> None:
    mails(tmp_path)

    def refusing(request: Received) -> Step:
        return Status(401) if "Screen" in str(request.body) else answer(request)

    async with OpenAIServer(refusing) as server, editor_on(tmp_path, server) as editor:
        asked = {**MAPPED, "uri": editor.open(FLOW), "output": "out.csv", "concurrency": 1}
        stopped = await editor.execute("merrow.batch", **asked)
        assert stopped["status"] == "stopped"
        before = await page(editor, "batch", stopped["batch"], head=True)
        assert before["verdicts"].get("answered", 0) < 4
        assert before["head"]["missing"] + before["all"] == 4
        server.answer = answer
        ended = await editor.execute("merrow.batch", resume=stopped["batch"], agreed=True)
        assert (ended["batch"], ended["status"]) == (stopped["batch"], "finished")
        after = await page(editor, "batch", stopped["batch"], head=True)
        assert (after["verdicts"], after["head"]["status"]) == ({"answered": 4}, "finished")
        assert len((tmp_path / "out.csv").read_text("utf-8").splitlines()) == 5


@pytest.mark.slow
async def test_candidates_of_a_search_are_rows_and_are_applied(tmp_path: Path) -> None:
    sums(tmp_path)
    async with OpenAIServer(lucky) as server, editor_on(tmp_path, server) as editor:
        applied: list[Any] = []

        def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            applied.append(params)
            return types.ApplyWorkspaceEditResult(applied=True)

        on(editor.client, types.WORKSPACE_APPLY_EDIT, apply)
        uri = editor.open(SINGLE)
        ended = await editor.execute("merrow.optimize", uri=uri, **SEARCHED, evaluations=300)
        found = await page(editor, "search", ended["search"], head=True)
        assert found["rows"][0]["verdict"] == "best"
        assert (found["all"], found["verdicts"]["start"]) == (ended["candidates"], 1)
        head = found["head"]
        assert any("Held out: best" in line for line in head["found"])
        assert not any(str(tmp_path) in line for line in head["found"])
        assert "folder" not in head
        assert len(head["charts"]) >= 3
        scores = column(await page(editor, "search", ended["search"], sort="told", verdicts=["scored"]), "told")
        assert scores == sorted(scores)
        rounds = column(await page(editor, "search", ended["search"], sort="round"), "round")
        assert rounds == [str(number) for number in range(min(100, ended["candidates"]))]
        key = found["rows"][0]["key"]
        whole = await editor.ask("merrow/result", kind="search", id=ended["search"], key=key)
        assert whole["changes"]
        assert whole["picture"].startswith("<figure>")
        better = await editor.execute("merrow.showBetter", id=ended["search"], candidate=int(key))
        assert (better["after"], Path(better["file"]).name) == (whole["text"], f"round_{int(key):03d}.mmd")
        done = await editor.execute("merrow.applyCandidate", id=ended["search"], candidate=int(key))
        assert (done["uri"], done["edits"] > 0, len(applied)) == (uri, True, 1)
        editor.change(uri, "flowchart TD\n    OTHER([Other]) --> THING([Thing])\n")
        with pytest.raises(JsonRpcException, match="was changed at the same lines"):
            await editor.execute("merrow.applyCandidate", id=ended["search"], candidate=int(key))
        with pytest.raises(JsonRpcException, match="has no candidate 999"):
            await editor.execute("merrow.applyCandidate", id=ended["search"], candidate=999)
