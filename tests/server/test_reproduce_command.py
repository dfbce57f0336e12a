"""``merrow reproduce``: the plan, rows within a budget, what is missing, the table; killed and continued."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Status, Step, serving
from tests.server.program import merrow, write
from tests.server.reproducing import answer, place, reproduce, tiny_data
from tests.shared import SHARED
from tests.sizes import sized

from merrow_optimizer.evaluation.data.catalogue import known_sets
from merrow_optimizer.reproducing.papers import PAPERS, read_paper, workflow_file
from merrow_server.cli.evaluate import reproduce as module

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
KILLS = sized(2, 4)
ROUND_1 = ("--rows", "round1-*")
ALIKE = ("pareto-2-", "pareto-3-")
"""Rows that are made as those of `pareto-1` are, by other models."""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with serving(answer) as server, place(monkeypatch, tmp_path, server):
        yield server


def shown(identity: str) -> dict[str, Any]:
    found: dict[str, Any] = merrow("show", identity, "--format", "json").json
    return found


def rows_of(table: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["row"]: row for row in table["rows"]}


def test_the_workflows_of_all_rows_are_clean() -> None:
    names = set()
    for paper in PAPERS:
        for row in read_paper(paper).rows.values():
            assert set(row.sets) <= known_sets().keys(), row.id
            if row.workflow is not None:
                names.add(row.workflow)
            asks = row.plan is not None or row.workflow is not None
            assert asks or row.is_derived or row.not_run or row.environment, row.id
    files = [workflow_file(name) for name in sorted(names)]
    assert set(files) == set(files[0].parent.glob("*.mmd"))
    checked = merrow("check", *map(str, files))
    assert (checked.code, checked.out) == (0, ""), checked.out
    assert module._PAPERS == PAPERS


def test_nothing_is_asked_before_it_is_agreed_to(server: OpenAIServer) -> None:
    done = reproduce("mermaidflow")
    assert done.code == 0, done.err
    assert "No call was made" in done.out
    for wanted in ("round1-gsm8k", "calls", "tokens", "$", "minute"):
        assert wanted in done.out
    plan = reproduce("mermaidflow", "--format", "json").json
    assert plan["estimate"]["calls"] > 0
    assert plan["estimate"]["hours"] > 0
    costs = {row["row"]: row["estimate"]["cost_usd"] for row in plan["rows"] if row["asks"]}
    assert [costs[row] for row in plan["order"]] == sorted(costs.values())
    assert reproduce("mermaidflow", "--yes", "--plan").code == 0
    assert server.requests == []
    assert merrow("runs", "--kind", "reproduction").err.startswith("No reproductions yet")


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.slow
def test_the_whole_plan_of_a_paper_ends_with_a_table(server: OpenAIServer, paper: str) -> None:
    whole = [row.id for row in read_paper(paper).rows.values() if not row.only_named]
    wanted = [row for row in whole if not row.startswith(ALIKE)]
    # Of few calls the forecast is rough.
    look = ["--items", "1" if paper == "a2flow" else "3", *(["--rows", ",".join(wanted)] if wanted != whole else [])]
    plan = reproduce(paper, *look, "--format", "json").json
    done = reproduce(paper, *look, "--yes", "--format", "json")
    # Rows that were named and are played elsewhere did not end.
    assert done.code == (wanted != whole), done.err
    table = done.json
    rows = rows_of(table)
    assert rows.keys() == set(wanted)
    for row in rows.values():
        said = read_paper(paper).rows[row["row"]]
        # The paper's figure is never beside one of other tasks.
        assert row["paper"] == (None if said.own_tasks and not said.is_other else said.figure)
        if said.is_other:
            assert (row["status"], row["ours"], row["verdict"]) == ("paper only", None, None)
        elif row["status"] == "ended":
            assert row["verdict"] == "LOOK"
            assert row["ours"]["items"] >= 1
        else:
            assert row["status"] == "not run", row
            assert row["ours"] is None, "what is not run has no figure, least of all 0"
            assert row["reasons"]
    asked = [row["row"] for row in plan["rows"] if row["asks"]]
    assert asked
    assert all(rows[row]["status"] == "ended" for row in asked)
    assert abs(plan["estimate"]["calls"] - len(server.requests)) <= 0.3 * len(server.requests)
    assert table["usage"]["calls"] == len(server.requests)
    text = merrow("show", f"repro/{paper}").out
    assert "LOOK" in text
    assert "the paper's figure only" in text


def test_what_is_played_elsewhere_is_not_run(server: OpenAIServer) -> None:
    done = reproduce("a2flow", "--rows", "a2flow-games-alfworld-*", "--yes")
    assert done.code == 2
    assert "ALFWorld" in done.err
    mixed = reproduce(
        "a2flow", "--rows", "a2flow-games-alfworld-*,io-gsm8k", "--items", "1", "--yes", "--format", "json"
    )
    assert mixed.code == 1, "rows that were named did not end"
    rows = rows_of(mixed.json)
    for name in ("a2flow-games-alfworld-seen", "a2flow-games-alfworld-unseen"):
        assert (rows[name]["status"], rows[name]["ours"]) == ("not run", None)
        assert "not part of Merrow" in rows[name]["why"]
    assert rows["io-gsm8k"]["status"] == "ended"


@pytest.mark.slow
def test_tasks_of_our_own_are_never_beside_the_figure_of_the_paper(server: OpenAIServer) -> None:
    done = reproduce(
        "a2flow", "--rows", "a2flow-games-textcraft,react-textcraft", "--items", "1", "--yes", "--format", "json"
    )
    rows = rows_of(done.json)
    ours = rows["a2flow-games-textcraft"]
    assert ours["status"] == "ended", ours["why"]
    assert (ours["ours"]["value"], ours["ours"]["items"]) == (0.0, 1)
    assert (ours["paper"], ours["difference"]) == (None, None)
    assert any("recipes" in reason for reason in ours["reasons"])
    assert (rows["react-textcraft"]["paper"], rows["react-textcraft"]["ours"]) == ("33.0", None)


@pytest.mark.slow
def test_with_recipes_of_others_the_figure_of_the_paper_is_there_but_not_compared(
    server: OpenAIServer, tmp_path: Path
) -> None:
    recipes = tmp_path / "recipes"
    recipes.mkdir()
    for number in range(5):
        made = {"type": "crafting_shapeless", "ingredients": [f"item_{number}"], "result": f"item_{number + 1}"}
        (recipes / f"{number}.json").write_text(json.dumps(made))
    only = ["a2flow", "--rows", "a2flow-games-textcraft", "--items", "1", "--yes", "--format", "json"]
    done = reproduce(*only, "--recipes", str(recipes))
    ours = rows_of(done.json)["a2flow-games-textcraft"]
    assert ours["status"] == "ended", ours["why"]
    assert (ours["paper"], ours["ours"]["value"], ours["verdict"]) == ("59.0", 0.0, "LOOK")
    assert any(str(recipes) in reason for reason in ours["reasons"])
    assert any("craft 1 item 2 using 1 item 1" in request.prompt for request in server.requests)
    count = len(server.requests)
    for wrong in ([*only, "--recipes", str(tmp_path / "none")], ["flow", "--recipes", str(recipes)]):
        assert reproduce(*wrong).code == 2
    assert len(server.requests) == count


def test_data_that_is_missing_or_another_file_is_not_run(server: OpenAIServer) -> None:
    Path("data/math_validate.jsonl").unlink()
    plan = merrow("reproduce", "mermaidflow", *ROUND_1, "--data", "data", "--format", "json").json
    missing = {row["row"]: row["missing"][0] for row in plan["rows"] if not row["asks"]}
    assert "is missing" in missing["round1-math"]["what"]
    assert "git clone" in missing["round1-math"]["get"]
    assert "SHA-256" in missing["round1-gsm8k"]["what"]
    assert len(missing) == 4
    done = reproduce("mermaidflow", *ROUND_1, "--items", "2", "--yes", "--format", "json")
    rows = rows_of(done.json)
    assert (done.code, rows["round1-math"]["status"], rows["round1-gsm8k"]["status"]) == (1, "not run", "ended")
    assert "The data are not the published file." in rows["round1-gsm8k"]["reasons"]


@pytest.mark.shared("datasets/math_validate.jsonl")
def test_published_data_without_a_look_have_a_verdict(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ("--data", str(SHARED / "datasets"), "--rows", "round1-humaneval", "--yes", "--format", "json")
    server.answer = lambda _: Reply("```python\npass\n```")
    row = rows_of(merrow("reproduce", "mermaidflow", *folder).json)["round1-humaneval"]
    assert (row["verdict"], row["ours"]["value"], row["ours"]["items"]) == ("outside", 0.0, 33)
    assert row["difference"]["interval"][1] < 0
    other = merrow("reproduce", "mermaidflow", *folder, "--models", "exec=another")
    row = rows_of(other.json)["round1-humaneval"]
    assert row["verdict"] == "not comparable"
    assert any("exec another" in one for one in row["reasons"])


def test_no_key_is_said_and_simulating_needs_none(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY")
    plan = reproduce("mermaidflow", *ROUND_1).out
    assert "OPENAI_API_KEY" in plan
    done = reproduce("mermaidflow", "--items", "2", "--simulate", "--yes")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert all(line.startswith("SIMULATED") for line in lines)
    assert "PAPER" not in done.out
    assert "80.75" not in done.out
    found = shown("repro/mermaidflow")
    assert all(row["paper"] is None and row["verdict"] is None for row in found["rows"])
    assert found["rows"][0]["ours"] is not None
    page = merrow("show", "repro/mermaidflow", "--format", "html").out
    assert page.count("SIMULATED") >= len(found["rows"])


def test_a_budget_that_ends_in_row_3_leaves_rows_1_and_2_whole(server: OpenAIServer) -> None:
    """A row that fits by its estimate begins, and stops where its answers are dearer than that."""
    plan = reproduce("mermaidflow", *ROUND_1, "--format", "json").json
    order, costs = plan["order"], {row["row"]: row["estimate"]["cost_usd"] for row in plan["rows"]}
    first = reproduce("mermaidflow", *ROUND_1, "--yes", "--format", "json")
    used = {row["row"]: row["usage"]["cost_usd"] for row in first.json["rows"]}
    assert all(used[row] < costs[row] for row in order)
    budget = used[order[0]] + used[order[1]] + costs[order[2]] * 1.01

    def dear(request: Received) -> Step:
        is_third = len(server.requests) > 10
        step = answer(request)
        usage = {"prompt_tokens": 2000, "completion_tokens": 100} if is_third else None
        return Reply(step.text, usage=usage) if isinstance(step, Reply) else step

    server.answer, server.requests[:] = dear, []
    write("again/.keep", "")
    env = {"MERROW_STATE_DIR": str(Path("again").absolute())}
    # One after another: calls in flight have reserved what they may use, and are made.
    given = ("--data", "data", "--other-data", *ROUND_1, "--concurrency", "1", "--budget-usd", f"{budget:.6f}")
    done = merrow("reproduce", "mermaidflow", *given, env=env)
    assert done.code == 1, done.err
    rows = rows_of(merrow("show", "repro/mermaidflow", "--format", "json", env=env).json)
    assert [rows[row]["status"] for row in order[:2]] == ["ended", "ended"]
    assert rows[order[2]]["status"] == "stopped"
    assert rows[order[3]]["status"] in ("stopped", "not begun")
    assert all(rows[row]["ours"]["items"] == 5 for row in order[:2])
    before = len(server.requests)
    more = merrow("resume", "repro/mermaidflow", "--budget-usd", "1", env=env)
    assert more.code == 0, more.err
    rows = rows_of(merrow("show", "repro/mermaidflow", "--format", "json", env=env).json)
    assert [rows[row]["status"] for row in order] == ["ended"] * 4
    assert len(server.requests) - before < 10, "the rows that ended, and answers of the third, are not asked again"
    twice = [body for body, times in Counter(json.dumps(one.body) for one in server.requests).items() if times > 1]
    assert len(twice) <= 2, "calls in flight when the budget ended"


def test_rows_that_share_a_plan_fail_together_where_no_plan_can_be_used(server: OpenAIServer) -> None:
    server.answer = lambda _: Reply("That is beyond me.")
    look = ("--rows", "flow-gobang,masked-without-gobang", "--items", "1")
    done = reproduce("flow", *look, "--yes", "--format", "json")
    rows = rows_of(done.json)
    assert (done.code, {row["status"] for row in rows.values()}) == (1, {"failed"}), done.err
    assert all("No plan could be used" in row["why"] for row in rows.values())
    asked = len(server.requests)
    assert merrow("resume", "repro/flow").code == 1
    assert reproduce("flow", *look).code == 0
    assert len(server.requests) == asked


@pytest.mark.parametrize("unit", ["cost_usd", "tokens"])
def test_a_row_that_does_not_fit_is_not_begun(server: OpenAIServer, unit: str) -> None:
    plan = reproduce("mermaidflow", *ROUND_1, "--format", "json").json
    estimates = {row["row"]: row["estimate"][unit] for row in plan["rows"]}
    budget = estimates[plan["order"][0]] * 1.01
    given = ("--budget-usd", f"{budget:.6f}") if unit == "cost_usd" else ("--budget-tokens", f"{budget:.0f}", "--yes")
    done = reproduce("mermaidflow", *ROUND_1, *given, "--format", "json")
    rows = rows_of(done.json)
    states = [rows[row]["status"] for row in plan["order"]]
    assert states[0] == "ended"
    assert "not begun" in states
    assert done.code == 1
    used = [row["usage"] for row in rows.values() if row["usage"]]
    assert (
        sum(
            usage[unit] if unit == "cost_usd" else usage["prompt_tokens"] + usage["completion_tokens"] for usage in used
        )
        <= budget
    )


@posix
@pytest.mark.thinned(32, "killed anywhere")
def test_killed_anywhere_no_answered_call_is_made_twice(
    server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is asked again: calls in flight, and answers of the last five milliseconds, which are committed together."""
    paper, named = "a2flow", ("--rows", "io-*,sc-gsm8k,sc-math", "--concurrency", "2")
    with serving(answer) as other, place(monkeypatch, tmp_path / "whole", other):
        assert reproduce(paper, *named, "--yes").code == 0
        wanted = bare(shown(f"repro/{paper}"))
        calls = Counter(question(one) for one in other.requests)
    chance, kills, command = (
        random.Random(7),
        0,
        ["reproduce", paper, "--data", "data", "--other-data", *named, "--yes"],
    )
    while kills < KILLS:
        before = len(server.requests)
        process = subprocess.Popen(
            [sys.executable, "-m", "merrow_server", *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        end = time.monotonic() + PATIENCE
        stop = before + chance.randint(1, max(2, len(calls) // KILLS))
        while len(server.requests) < stop and process.poll() is None and time.monotonic() < end:
            time.sleep(0.001)
        process.kill()
        process.communicate()
        kills += 1
        command = ["resume", f"repro/{paper}"]
    last = merrow("resume", f"repro/{paper}")
    assert last.code == 0, last.err
    assert bare(shown(f"repro/{paper}")) == wanted
    asked = Counter(question(one) for one in server.requests)
    assert asked.keys() == calls.keys()
    assert sum(asked.values()) - sum(calls.values()) <= 4 * kills
    again = merrow("resume", f"repro/{paper}")
    assert again.code == 0
    assert sum(asked.values()) == len(server.requests)


def question(request: Received) -> str:
    return json.dumps(request.body, sort_keys=True)


def bare(table: dict[str, Any]) -> list[Any]:
    """The table without times and what was paid by which process."""
    return [(row["row"], row["status"], row["ours"], row["verdict"]) for row in table["rows"]]


def test_an_endpoint_that_fails_stops_it_and_it_can_be_continued(server: OpenAIServer) -> None:
    server.answer = lambda _: Status(401, "no such key")
    done = reproduce("mermaidflow", *ROUND_1, "--items", "2", "--yes")
    assert done.code == 1
    assert "merrow resume repro/mermaidflow" in done.err
    assert len(server.requests) < 8, "two rows that stop one after another end it"
    assert shown("repro/mermaidflow")["status"] == "stopped"
    listed = merrow("runs", "--kind", "reproduction").out
    assert re.search(r"repro/mermaidflow +stopped", listed)
    server.answer = answer
    assert merrow("resume", "repro/mermaidflow").code == 0
    assert shown("repro/mermaidflow")["status"] == "finished"
    assert (
        reproduce("mermaidflow", *ROUND_1, "--items", "2", "--yes", "--format", "json").json["reproduction"]
        == "repro/mermaidflow.2"
    )
    page = merrow("show", "repro/mermaidflow", "--format", "html", "-o", "table.html")
    assert page.code == 0, page.err
    assert "LOOK" in Path("table.html").read_text()
    run = merrow("show", "repro/mermaidflow/round1-gsm8k", "--format", "json").json["rows"][0]
    assert run["inputs"]["PROBLEM"].startswith("Case")
    assert merrow("show", run["run"]).code == 0
    assert merrow("runs", "--kind", "reproduction", "--delete", "repro/mermaidflow").code == 0
    assert merrow("show", "repro/mermaidflow").code == 2


@posix
def test_it_is_cancelled_from_elsewhere(server: OpenAIServer) -> None:
    from tests.runtime.openai_server import only

    server.answer = only(2, answer)
    command = ["reproduce", "mermaidflow", "--data", "data", "--other-data", *ROUND_1, "--yes", "--concurrency", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "merrow_server", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    end = time.monotonic() + PATIENCE
    while len(server.requests) < 3 and time.monotonic() < end:
        time.sleep(0.01)
    assert merrow("cancel", "repro/mermaidflow").code == 0
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert shown("repro/mermaidflow")["status"] == "cancelled"
    server.answer = answer
    assert merrow("resume", "repro/mermaidflow").code == 0


def test_what_is_asked_wrongly_is_said(server: OpenAIServer) -> None:
    for given, wanted in (
        (("--rows", "io-gsm"), "did you mean io-gsm8k?"),
        (("--rows", "nothing-*"), "No row of a2flow begins with"),
        (("--models", "judges=x"), "the roles are exec"),
    ):
        done = reproduce("a2flow", *given)
        assert done.code == 2
        assert wanted in done.err


def test_tiny_data_have_all_published_forms(tmp_path: Path) -> None:
    tiny_data(tmp_path)
    published = {one.file for one in known_sets().values() if one.get}
    assert {file.name for file in tmp_path.iterdir()} == published
