"""People who are asked in runs of a served workflow: over real HTTP and by real clients of the Model Context Protocol."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Any

import httpx2
import jsonschema
import pytest
import uvicorn
from tests.patience import PATIENCE
from tests.runtime.composites.loops import custom, flow
from tests.runtime.engine.fakes import FakeEndpoint
from tests.runtime.people.asking import by_name, person, reviewed, three

from merrow_runtime.options import RunOptions
from merrow_runtime.outside.user_servers import UserServers
from merrow_runtime.people.answering import LONGEST_ANSWER
from merrow_runtime.running.resources import ChosenEndpoint
from merrow_runtime.store.database import Store
from merrow_runtime.workflow import Workflow
from merrow_server.service.http import application
from merrow_server.service.runs import ServedRuns

TOKEN = "a-token-of-the-tests"  # noqa: S105
ONE = flow(custom("A"), person("ASK"), custom("B"), "PROBLEM --> A --> ASK --> B --> RETURN")
LATER = {"Prefer": "respond-async"}


class Served:
    """A workflow that is served in this process, on a port of its own, and a client of it."""

    def __init__(self, url: str, client: httpx2.AsyncClient, runs: ServedRuns, store: Store) -> None:
        self.url, self.client, self.runs, self.store = url, client, runs, store

    async def begin(self, **headers: str) -> dict[str, Any]:
        """Begin a run that waits at once; what the client is told."""
        begun = await self.client.post("/runs", json={"problem": "x"}, headers=headers)
        assert begun.status_code == 202, begun.text
        shown: dict[str, Any] = begun.json()
        assert begun.headers["location"] == f"/runs/{shown['run']}"
        return shown

    async def answer(self, run: str, headers: dict[str, str] | None = None, **body: Any) -> tuple[int, dict[str, Any]]:
        answered = await self.client.post(f"/runs/{run}/answers", json=body, headers=headers)
        return answered.status_code, answered.json()

    async def look(self, run: str) -> dict[str, Any]:
        looked = await self.client.get(f"/runs/{run}")
        assert looked.status_code == 200
        shown: dict[str, Any] = looked.json()
        return shown

    async def until(self, run: str, status: str) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE):
            while (shown := await self.look(run))["status"] != status:
                await asyncio.sleep(0.02)
        return shown


@asynccontextmanager
async def served(
    workflow: Workflow = ONE, endpoint: FakeEndpoint | None = None, *, most: int = 4, usd: float = 1.0
) -> AsyncIterator[Served]:
    endpoint = FakeEndpoint(by_name) if endpoint is None else endpoint
    with closing(Store.open()) as store, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        runs = ServedRuns(
            workflow, RunOptions(), ChosenEndpoint(endpoint, "m"), store, UserServers(lambda: None), most=most, usd=usd
        )
        server = uvicorn.Server(uvicorn.Config(application(runs, TOKEN, url), log_config=None, ws="none"))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=PATIENCE) as client:
            try:
                yield Served(url, client, runs, store)
            finally:
                runs.close()
                runs.cancel()
                await runs.ended()
                server.should_exit = True
                await serving


# HTTP


async def test_a_run_that_asks_is_told_with_its_questions_and_goes_on_when_they_are_answered() -> None:
    endpoint = FakeEndpoint(by_name)
    async with served(endpoint=endpoint) as service:
        shown = await service.begin()
        run = shown["run"]
        (ask,) = shown["asks"]
        assert (shown["status"], ask["node"], ask["path"], ask["question"], ask["due"]) == (
            "waiting",
            "ASK",
            "",
            "ASK?",
            None,
        )
        assert ask["shown"] == [{"title": "Input", "text": "A(x)"}]
        assert ask["schema"]["properties"]["answer"]["type"] == "string"
        document = (await service.client.get("/openapi.json")).json()
        jsonschema.validate(shown, {**document["components"]["schemas"]["Run"], "components": document["components"]})
        looked = await service.look(run)
        assert (looked["status"], looked["asks"]) == ("waiting", [ask])
        assert service.runs.going == []

        status, ended = await service.answer(run, node="ASK", value="send it")
        assert (status, ended["status"], ended["outputs"]) == (200, "finished", {"RETURN": "B(send it)"})
        kept = await service.look(run)
        assert (kept["outputs"], kept["usage"], kept["status"]) == (ended["outputs"], ended["usage"], "finished")
        assert "asks" not in kept
        assert [call.kind for call in service.store.calls(run)].count("person") == 1
        assert len(endpoint.seen) == 2


async def test_an_answer_can_be_left_to_work_while_its_client_goes() -> None:
    async with served() as service:
        run = (await service.begin())["run"]
        status, shown = await service.answer(run, LATER, node="ASK", form={"answer": "yes", "note": "but soon"})
        assert (status, shown["run"]) == (202, run)
        assert (await service.until(run, "finished"))["outputs"] == {"RETURN": "B(yes)"}


async def test_a_loop_asks_in_each_turn_and_is_answered_by_its_path() -> None:
    async with served(reviewed()) as service:
        shown = await service.begin()
        run = shown["run"]
        for turn, word in ((1, "bad"), (2, "bad"), (3, "good")):
            (ask,) = shown["asks"]
            assert (ask["node"], ask["path"]) == ("LOOK", f"L[{turn}]")
            status, shown = await service.answer(run, node=ask["node"], path=ask["path"], value=word)
            assert status == (200 if word == "good" else 202)
        assert shown["status"] == "finished"
        status, refused = await service.answer(run, node="LOOK", path="L[1]", value="good")
        assert (status, "already" in refused["error"]) == (409, True)


async def test_several_questions_are_answered_each_on_its_own() -> None:
    async with served(three()) as service:
        run = (await service.begin())["run"]
        for number, name in enumerate(("TWO", "ONE", "THREE"), 1):
            assert name in [ask["node"] for ask in (await service.look(run))["asks"]]
            status, shown = await service.answer(run, node=name, value=f"for {name}")
            assert (status, len(shown.get("asks", []))) == ((202, 3 - number) if number < 3 else (200, 0))
        assert all(f"for {name}" in str(shown["outputs"]) for name in ("ONE", "TWO", "THREE"))


async def test_the_questions_of_a_run_that_still_works_are_shown_and_answered_in_it() -> None:
    endpoint = FakeEndpoint(by_name)
    endpoint.gate = asyncio.Event()
    async with served(three(), endpoint, most=1) as service:
        begun = await service.client.post("/runs", json={"problem": "x"}, headers=LATER)
        run = begun.json()["run"]
        async with asyncio.timeout(PATIENCE):
            while len((await service.look(run)).get("asks", [])) < 3:
                await asyncio.sleep(0.02)
        assert (await service.look(run))["status"] == "running"
        for name in ("ONE", "TWO", "THREE"):  # although no further run may begin now
            assert (await service.answer(run, LATER, node=name, value="yes"))[0] == 202
        endpoint.gate.set()
        assert (await service.until(run, "finished"))["outputs"] != {}


async def test_whoever_answers_first_has_answered_and_the_second_is_told_who_did() -> None:
    async with served() as service:
        run = (await service.begin())["run"]
        answers = await asyncio.gather(
            *(service.answer(run, node="ASK", value=f"number {number}") for number in range(5))
        )
        first = [shown for status, shown in answers if status == 200]
        others = [shown for status, shown in answers if status != 200]
        assert (len(first), [status for status, _ in answers].count(409)) == (1, 4)
        (ask,) = service.store.asks(run)
        assert first[0]["outputs"] == {"RETURN": f"B({(ask.answer or {})['answer']})"}
        for shown in others:
            assert shown == {
                "error": f"{ask.by} has answered the question of ASK in run {run} already.",
                "by": ask.by,
            }


async def test_what_does_not_fit_is_refused_in_a_sentence_and_answers_nothing() -> None:
    async with served(reviewed()) as service:
        run = (await service.begin())["run"]
        one_of = 'An answer has one of these: `value`, `form`, or `"decline": true`.'
        for body, status, error in (
            ({"node": "LOOK", "value": "fine"}, 422, "The answer to L[1]/LOOK does not fit. "),
            ({"node": "LOOK", "value": 7}, 422, "The answer to L[1]/LOOK does not fit. "),
            ({"node": "LOOK", "form": {"answer": "good", "more": 1}}, 422, "The answer to L[1]/LOOK does not fit. "),
            ({"node": "LOOK", "value": "x" * (LONGEST_ANSWER + 1)}, 422, "The answer to L[1]/LOOK has 1,000,001 "),
            ({"node": "LOK", "value": "good"}, 404, f"Node LOK of run {run} asks nothing. "),
            ({"node": "LOOK", "path": "L[9]", "value": "good"}, 404, f"Node L[9]/LOOK of run {run} asks nothing. "),
            ({"node": "LOOK"}, 400, one_of),
            ({"node": "LOOK", "value": None, "decline": False}, 400, one_of),
            ({"node": "LOOK", "value": "good", "decline": True}, 400, one_of),
            ({"node": "LOOK", "form": "good"}, 400, "`form` must be a JSON object"),
            ({"node": "LOOK", "decline": "yes"}, 400, "`decline` must be true."),
            ({"node": 3, "value": "good"}, 400, "`node` must be the id of the node that asks."),
            ({"node": "LOOK", "path": 1, "value": "good"}, 400, "`path` must be a text"),
            (
                {"node": "LOOK", "vale\x1b": "good"},
                400,
                "An answer has no 'vale\\x1b'; it has: node, path, value, form",
            ),
        ):
            refused = await service.answer(run, **body)
            assert (refused[0], refused[1]["error"][: len(error)]) == (status, error)
        for content, status in ((b"", 400), (b"[1]", 400), (b"[" * 100_000, 400), (b" " * 10_000_001, 413)):
            assert (await service.client.post(f"/runs/{run}/answers", content=content)).status_code == status
        assert (await service.answer("none", node="LOOK", value="good"))[0] == 404
        async with httpx2.AsyncClient(base_url=service.url) as stranger:
            refused_ = await stranger.post(f"/runs/{run}/answers", json={"node": "LOOK", "value": "good"})
            assert refused_.status_code == 401
        assert [ask.state for ask in service.store.asks(run)] == ["asked"]
        assert (await service.answer(run, node="LOOK", value="good"))[1]["status"] == "finished"


async def test_a_question_that_is_closed_is_gone() -> None:
    async with served() as service:
        run = (await service.begin())["run"]
        stopped = await service.client.delete(f"/runs/{run}")
        assert (stopped.status_code, stopped.json()["status"]) == (200, "cancelled")
        status, refused = await service.answer(run, node="ASK", value="yes")
        assert (status, refused) == (
            410,
            {"error": f"The question of ASK in run {run} was withdrawn: nothing needs its answer any more."},
        )


async def test_who_declines_makes_the_node_fail() -> None:
    async with served() as service:
        run = (await service.begin())["run"]
        status, shown = await service.answer(run, node="ASK", decline=True)
        assert (status, shown["status"], "declined to answer" in shown["error"]) == (500, "failed", True)


async def test_a_deadline_continues_the_run_when_nobody_looks() -> None:
    late = flow(
        person("ASK", "deadline: 1, on_error: default, default: nobody"),
        custom("B"),
        "PROBLEM --> ASK --> B --> RETURN",
    )
    async with served(late) as service:
        shown = await service.begin()
        assert shown["asks"][0]["due"] == pytest.approx(shown["asks"][0]["asked"] + 1)
        async with asyncio.timeout(PATIENCE):
            while service.store.status(shown["run"]) != "finished":
                await asyncio.sleep(0.02)
        assert (await service.look(shown["run"]))["outputs"] == {"RETURN": "B(nobody)"}
        assert (await service.answer(shown["run"], node="ASK", value="yes"))[0] == 410


async def test_what_the_service_may_not_spend_is_not_answered() -> None:
    async with served() as service:
        run = (await service.begin())["run"]
    async with served(usd=0.0) as service:
        status, refused = await service.answer(run, node="ASK", value="yes")
        assert (status, "it may spend $0" in refused["error"]) == (402, True)
        assert [ask.state for ask in service.store.asks(run)] == ["asked"]


async def test_another_start_of_the_service_takes_the_answer() -> None:
    async with served() as service:
        shown = await service.begin(**{"Idempotency-Key": "key"})
    endpoint = FakeEndpoint(by_name)
    async with served(endpoint=endpoint) as service:
        again = await service.begin(**{"Idempotency-Key": "key"})
        assert (again["run"], again["asks"]) == (shown["run"], shown["asks"])
        ended = (await service.answer(shown["run"], node="ASK", value="yes"))[1]
        assert (ended["outputs"], len(endpoint.seen)) == ({"RETURN": "B(yes)"}, 1)


# The Model Context Protocol


class People:
    """The user of a client: their answers by the node that asks, one after the other, and the questions that they saw."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {name: list(given) if isinstance(given, list) else [given] for name, given in answers.items()}
        self.seen: list[Any] = []

    async def __call__(self, _: Any, params: Any) -> Any:
        from mcp import types

        self.seen.append(params)
        asked = params.message.rpartition("\n")[2].partition(" asks: ")[0]
        given = self.answers[asked.rpartition("/")[2]].pop(0)
        if isinstance(given, str) and given.startswith("/"):
            return types.ElicitResult(action=given[1:])
        if callable(given):
            given = await given()
        return types.ElicitResult(action="accept", content=given if isinstance(given, dict) else {"answer": given})


@asynccontextmanager
async def asking(service: Served, user: People | None, *, mode: str = "auto") -> AsyncIterator[Any]:
    """A real client, of today's version of the protocol, or of those before with ``legacy``."""
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=PATIENCE) as http,
        Client(
            streamable_http_client(f"{service.url}/mcp", http_client=http), mode=mode, elicitation_callback=user
        ) as client,
    ):
        yield client


async def name_of_tool(client: Any) -> str:
    (tool,) = (await client.list_tools()).tools
    name: str = tool.name
    return name


async def called(client: Any) -> Any:
    return await client.call_tool(await name_of_tool(client), {"PROBLEM": "x"})


BOTH = pytest.mark.parametrize("mode", ["auto", "legacy"])


@BOTH
async def test_a_client_asks_its_user_what_a_run_asks(mode: str) -> None:
    endpoint = FakeEndpoint(by_name)
    user = People(LOOK=[{"answer": "bad", "note": "again"}, "good"])
    async with served(reviewed(), endpoint) as service, asking(service, user, mode=mode) as client:
        found = await called(client)
        assert not found.is_error, found.content
        assert found.structured_content == service.store.run(found.meta["run"]).outputs
        first, second = user.seen
        assert first.message.startswith("Input:\nWRITE(x)")
        assert [params.message.rpartition("\n")[2] for params in (first, second)] == [
            "L[1]/LOOK asks: LOOK?",
            "L[2]/LOOK asks: LOOK?",
        ]
        assert first.requested_schema["properties"]["answer"]["enum"] == ["good", "bad"]
        assert [ask.answer for ask in service.store.asks(found.meta["run"])] == [
            {"answer": "bad", "note": "again"},
            {"answer": "good"},
        ]
        assert len(endpoint.seen) == 2


@BOTH
async def test_an_answer_that_does_not_fit_is_asked_for_again_with_the_reason(mode: str) -> None:
    user = People(LOOK=["fine", {"answer": "good", "nothing": "x"}, "good"])
    async with served(reviewed()) as service, asking(service, user, mode=mode) as client:
        assert not (await called(client)).is_error
    problem = "An earlier answer was not accepted: The answer to L[1]/LOOK does not fit. "
    assert [params.message.startswith(problem) for params in user.seen] == [False, True, True]


@BOTH
async def test_a_user_who_puts_questions_off_leaves_the_run_to_wait(mode: str) -> None:
    user = People(ONE="one", TWO="/cancel", THREE="three")
    async with served(three()) as service, asking(service, user, mode=mode) as client:
        found = await called(client)
        run = found.meta["run"]
        assert found.is_error
        assert found.content[0].text == (
            f"Run {run} waits for a person. Answer its questions, and it continues:\n"
            f"TWO asks: TWO? Answer with: merrow answer {run} TWO VALUE"
        )
        assert sorted(params.message.rpartition("\n")[2] for params in user.seen) == [
            "ONE asks: ONE?",
            "THREE asks: THREE?",
            "TWO asks: TWO?",
        ]
        assert (await service.answer(run, node="TWO", value="two"))[1]["status"] == "finished"


@BOTH
async def test_a_user_may_decline(mode: str) -> None:
    async with served() as service, asking(service, People(ASK="/decline"), mode=mode) as client:
        found = await called(client)
        assert (found.is_error, "declined to answer its question" in found.content[0].text) == (True, True)


@BOTH
async def test_a_client_that_has_no_forms_is_told_how_to_answer(mode: str) -> None:
    async with served() as service, asking(service, None, mode=mode) as client:
        found = await called(client)
        run = found.meta["run"]
        assert (found.is_error, found.content[0].text.endswith(f"merrow answer {run} ASK VALUE")) == (True, True)
        assert service.store.run(run).status == "waiting"


@BOTH
async def test_somebody_else_may_be_faster_than_the_form(mode: str) -> None:
    async with served() as service:
        is_over = asyncio.Event()

        async def late() -> str:
            (run,) = [record.id for record in service.store.runs()]
            await service.answer(run, node="ASK", value="faster")
            if mode == "legacy":  # the form is withdrawn, and the call goes on without it
                await asyncio.wait_for(is_over.wait(), PATIENCE)
            return "slower"

        async with asking(service, People(ASK=late), mode=mode) as client:
            found = await called(client)
            is_over.set()
            assert found.structured_content == {"RETURN": "B(faster)"}


async def test_a_state_outlives_the_service_and_nobody_else_makes_one() -> None:
    from mcp import types

    async with served() as service, asking(service, People()) as client:
        name = await name_of_tool(client)
        asked = await client.session.call_tool(name, {"PROBLEM": "x"}, allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult)
        assert list(asked.input_requests or {}) == ["ASK"]
        state = asked.request_state or ""
    answered: types.InputResponses = {"ASK": types.ElicitResult(action="accept", content={"answer": "yes"})}
    run = state.partition(".")[0]
    async with served() as service, asking(service, People()) as client:

        async def tried(given: str, responses: types.InputResponses) -> Any:
            return await client.session.call_tool(
                name, {"PROBLEM": "x"}, request_state=given, input_responses=responses, allow_input_required=True
            )

        for wrong in ("", run, f"{run}.", f"{run}.{'0' * 64}", f"x{state}", f"{state}0", "é" * 5_000, f"{state[:-1]}é"):
            refused = await tried(wrong, answered)
            assert (refused.is_error, refused.content[0].text) == (
                True,
                "This request state is not one of this service and workflow; call the tool without it.",
            )
        assert [ask.state for ask in service.store.asks(run)] == ["asked"]
        again = await tried(state, {"NONE": answered["ASK"]})
        assert (list(again.input_requests), again.request_state) == (["ASK"], state)
        ended = await tried(state, answered)
        assert ended.structured_content == {"RETURN": "B(yes)"}
        assert (await tried(state, answered)).structured_content == ended.structured_content, "it may be sent twice"


async def test_a_client_that_goes_while_its_user_thinks_leaves_the_run_to_wait() -> None:
    thinks = asyncio.Event()

    async def never() -> str:
        thinks.set()
        await asyncio.Event().wait()
        return ""

    async with served() as service:
        async with asking(service, People(ASK=never), mode="legacy") as client:
            call = asyncio.create_task(called(client))
            await asyncio.wait_for(thinks.wait(), PATIENCE)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
        (run,) = [record.id for record in service.store.runs()]
        assert (await service.look(run))["status"] == "waiting"
        assert (await service.answer(run, node="ASK", value="yes"))[1]["outputs"] == {"RETURN": "B(yes)"}


@BOTH
async def test_hostile_texts_arrive_harmless_and_bounded(mode: str) -> None:
    hostile = "\x1b[2J\u202e\ud800" + "x" * 500_000
    edit = flow(custom("A"), person("EDIT"), "PROBLEM --> A -->|draft| EDIT", "A --> EDIT --> RETURN")
    user = People(EDIT={"answer": "clean"})
    async with served(edit, FakeEndpoint(lambda _: hostile)) as service, asking(service, user, mode=mode) as client:
        found = await called(client)
        assert found.structured_content == {"RETURN": "clean"}
    (seen,) = user.seen
    assert not {"\x1b", "\u202e", "\ud800"} & set(seen.message)
    assert len(seen.message) < 110_000
    assert seen.requested_schema["properties"]["answer"]["default"].endswith("xxx")
    json.dumps(seen.requested_schema).encode()
