"""A workflow planned from an editor: said what it costs, agreed to, answered with all plans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from tests.optimizer.planning.plans import answer, merrow_form, plan_of
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Status, Step
from tests.server.lsp.editor import MODERN
from tests.server.lsp.running import editor_on
from tests.server.lsp.test_suggestions import asked

from merrow_analysis.check import analyse

PLAN = "merrow.plan"
TASK = "Make a web page for our conference."
CHAIN, WIDE = plan_of("ABCD", "AB", "BC", "CD"), plan_of("ABCD", "AD", "BD", "CD")
BROKEN = "I can't plan that."


class Planner:
    """Answers questions for plans in turn, the last answer again and again, and judges that task A meets everything."""

    def __init__(self, *answers: str) -> None:
        self._left = list(answers)

    def __call__(self, request: Received) -> Step:
        if "plans of it" in request.prompt:  # without a schema, as to an endpoint that answered without one
            met = [{"plan": number, "task": "A"} for number in range(1, 6)]
            return Reply(json.dumps({"requirements": [{"requirement": "a <b>map</b>", "met_by": met}]}))
        return Reply(self._left.pop(0) if len(self._left) > 1 else self._left[0])


def planner() -> Planner:
    return Planner(answer(merrow_form(CHAIN)), answer(merrow_form(WIDE)), BROKEN)


async def test_plans_are_answered_in_order_with_those_that_failed(tmp_path: Path) -> None:
    async with OpenAIServer(planner()) as server, editor_on(tmp_path, server) as editor:
        found = await editor.execute(PLAN, task=TASK, agreed=True)
        assert [len(one["tasks"]) for one in found["plans"]] == [4, 4]
        assert found["plans"][0]["figures"]["expected"]["score"] < found["plans"][1]["figures"]["expected"]["score"]
        assert {name for one in found["plans"] for name in one["figures"]} == {"expected", "paper", "code"}
        assert all(not analyse(one["text"]).diagnostics for one in found["plans"])
        assert found["plans"][0]["covered"] == {"a <b>map</b>": ["A"]}
        assert [one["problems"] for one in found["refused"]] == [["It has no JSON object with `tasks`."]]
        assert (found["endpoint"], found["requirements"]) == (server.origin, ["a <b>map</b>"])
        assert found["usage"]["calls"] == len(server.requests) == 6  # the broken plan came back the same
        kinds = [report.kind for report in editor.progress]
        assert (kinds[0], kinds[-1]) == ("begin", "end")
        messages = [report.message for report in editor.progress if report.kind == "report"]
        assert any("plans received" in message for message in messages)
        assert list(tmp_path.glob("*.mmd")) == []


@pytest.mark.slow
async def test_the_cost_is_said_first_and_agreed_to(tmp_path: Path) -> None:
    prices = '[prices."{}"."*"]\ninput = {}\noutput = {}\n'
    async with OpenAIServer(planner()) as server:
        (tmp_path / ".config").mkdir()
        config = tmp_path / ".config" / "config.toml"
        config.write_text(prices.format(server.origin, 100, 100))
        async with editor_on(tmp_path, server) as editor:
            dry = await editor.execute(PLAN, task=TASK, n=2, dryRun=True)
            assert (dry["mayCost"], dry["calls"]) == (True, {"least": 3, "most": 9})
            assert "3 to 9 calls to" in dry["text"]
            assert "at most about $" in dry["text"]
            questions = asked(editor, None)
            with pytest.raises(JsonRpcException, match="No model was asked"):
                await editor.execute(PLAN, task=TASK, n=2)
            assert (len(questions), server.requests) == (1, [])
            assert dry["text"] in questions[0].message
            questions = asked(editor, "Ask the Model")
            assert len((await editor.execute(PLAN, task=TASK, n=2))["plans"]) == 2
            # What is known costs nothing, so nobody has to agree.
            count = len(server.requests)
            questions = asked(editor, None)
            assert len((await editor.execute(PLAN, task=TASK, n=2))["plans"]) == 2
            assert (questions, len(server.requests)) == ([], count)
            known = await editor.execute(PLAN, task=TASK, n=2, dryRun=True)
            assert (known["mayCost"], "known already" in known["text"]) == (False, True)
        config.write_text(prices.format(server.origin, 0.000001, 0.000001))
        async with editor_on(tmp_path, server) as editor:
            assert not (await editor.execute(PLAN, task="Other.", dryRun=True))["mayCost"]
        pushed: Any = MODERN | {"workspace": {"applyEdit": True}}
        async with editor_on(tmp_path, server, capabilities=pushed, options={"suggestAskAboveUsd": 0}) as editor:
            assert (await editor.execute(PLAN, task="Other.", dryRun=True))["mayCost"]


async def test_the_users_own_settings_say_who_plans_who_judges_and_what_is_spent_unasked(tmp_path: Path) -> None:
    """Their models come before the one of the editor, and of the two sums the lower one holds."""
    pushed: Any = MODERN | {"workspace": {"applyEdit": True}}
    models = '[models]\noptimizer = "planner"\njudge = "judge"\n'
    async with OpenAIServer(planner()) as server:
        (tmp_path / ".config").mkdir()
        config = tmp_path / ".config" / "config.toml"
        prices = f'[prices."{server.origin}"."*"]\ninput = 1\noutput = 1\n'
        config.write_text(f"suggest_ask_above_usd = 0\n{models}{prices}")
        async with editor_on(tmp_path, server, capabilities=pushed, options={"suggestAskAboveUsd": 100}) as editor:
            dry = await editor.execute(PLAN, task=TASK, n=1, dryRun=True)
            assert (dry["mayCost"], dry["model"]) == (True, "planner")
            assert "calls to planner and, to judge, judge at" in dry["text"]
            alone = await editor.execute(PLAN, task=TASK, n=1, judge=False, dryRun=True)
            assert "calls to planner at" in alone["text"]
            await editor.execute(PLAN, task=TASK, n=1, agreed=True)
            assert [request.body["model"] for request in server.requests] == ["planner", "judge"]
        config.write_text(f"suggest_ask_above_usd = {dry['cost_usd']['most']!r}\n{models}{prices}")
        async with editor_on(tmp_path, server, capabilities=pushed, options={"suggestAskAboveUsd": 100}) as editor:
            for task, more in ((TASK, False), (f"{TASK} And more.", True)):
                asked = await editor.execute(PLAN, task=task, n=1, fresh=True, dryRun=True)
                assert asked["mayCost"] == more, "what may cost just as much is spent unasked"


async def test_bounds_and_models_go_with_the_question(tmp_path: Path) -> None:
    async with OpenAIServer(planner()) as server, editor_on(tmp_path, server) as editor:
        found = await editor.execute(
            PLAN,
            task=TASK,
            n=1,
            rank="paper",
            roles=["Solver", " "],
            maxAgents=1,
            maxNodes=4,
            judge=False,
            optimizerModel="planner",
            agreed=True,
        )
        (request,) = server.requests
        assert request.body["model"] == found["model"] == "planner"
        assert "these roles and no others: Solver." in request.prompt
        assert (found["rule"]["name"], found["requirements"]) == ("paper", None)


@pytest.mark.slow
async def test_what_is_just_allowed_is_planned_and_who_shows_no_runs_is_told_what_it_may_cost(tmp_path: Path) -> None:
    async with OpenAIServer(planner()) as server, editor_on(tmp_path, server, capabilities=MODERN) as editor:
        for more, least in (
            ({"n": 50}, 51),
            ({"task": "x" * 100_000, "n": 1, "judge": False}, 1),
            ({"maxNodes": 500, "maxAgents": 1}, 4),
            ({"maxNodes": 1, "rank": "code", "form": "json"}, 4),
            ({"rank": "expected", "roles": []}, 4),
        ):
            dry = await editor.execute(PLAN, **({"task": TASK} | more), dryRun=True)
            assert dry["calls"]["least"] == least, more
            (message,) = editor.client.messages
            assert (message.type, message.message) == (types.MessageType.Info, f"{dry['text']} No call was made.")
            editor.client.messages.clear()
        assert set(dry) == {"calls", "tokens", "cost_usd", "endpoint", "model", "text", "mayCost", "notices"}

        def show(_: types.ShowMessageRequestParams) -> None:
            raise OSError("nobody")

        editor.client.protocol.fm.add_builtin_feature(types.WINDOW_SHOW_MESSAGE_REQUEST, show)
        with pytest.raises(JsonRpcException) as caught:
            await editor.execute(PLAN, task=TASK)
        dry = await editor.execute(PLAN, task=TASK, dryRun=True)
        assert caught.value.message == (
            f"Planning a workflow: {dry['text']} Execute the command with `agreed: true` to plan."
        )
        assert server.requests == []
        uri = editor.open("flowchart TD\n    A --> B\n")
        for form, head in (("mermaid", "Mermaid"), (None, "JSON")):
            plans = await editor.execute(
                PLAN, task=f" {TASK} ", n=1, uri=uri, judge=False, agreed=True, form=form, fresh=True
            )
            assert plans["task"] == TASK
            assert head in server.requests[-1].prompt


async def test_the_connections_of_a_plan_are_let_go_with_it(tmp_path: Path) -> None:
    async with OpenAIServer(planner()) as server, editor_on(tmp_path, server) as editor:
        for number in (1, 2):
            await editor.execute(PLAN, task=TASK, n=1, model="m", judge=False, agreed=True, fresh=True)
            assert (len(server.requests), server.connections) == (number, number)


async def test_nothing_is_planned_in_a_workspace_that_is_not_trusted(tmp_path: Path) -> None:
    async with OpenAIServer(planner()) as server, editor_on(tmp_path, server) as editor:
        editor.client.protocol.notify("merrow/trust", {"trusted": False})
        with pytest.raises(JsonRpcException, match="not trusted"):
            await editor.execute(PLAN, task=TASK, agreed=True)
        assert server.requests == []


async def test_the_embedded_model_plans_where_no_other_is_set(tmp_path: Path) -> None:
    async with editor_on(tmp_path) as editor:
        dry = await editor.execute(PLAN, task=TASK, dryRun=True)
        assert not dry["mayCost"]
        assert "not a real model" in dry["notices"][0]
        found = await editor.execute(PLAN, task=TASK)
        assert found["endpoint"] == "merrow:offline"
        assert TASK in found["plans"][0]["text"]
        assert found["notices"] == dry["notices"]


async def test_an_endpoint_that_refuses_ends_it_with_a_sentence(tmp_path: Path) -> None:
    async with OpenAIServer(lambda _: Status(401)) as server, editor_on(tmp_path, server) as editor:
        with pytest.raises(JsonRpcException, match="401"):
            await editor.execute(PLAN, task=TASK, agreed=True)
        assert [report.kind for report in editor.progress][-1] == "end"
