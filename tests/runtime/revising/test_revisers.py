"""Revisers: when they are asked, what they may do, and what a run does with one that means no good."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.engine.fakes import FakeEndpoint, workflow

from merrow_optimizer.revising.model import ModelReviser
from merrow_runtime import RunOptions, resume, start
from merrow_runtime.errors import EndpointFailure, UsageFailure
from merrow_runtime.models.prices import Price
from merrow_runtime.models.tokens import estimate_tokens
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.running.revisions import called_before
from merrow_runtime.running.run import RunResult
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.usage import Usage
from merrow_runtime.workflow import Workflow


def custom(name: str, more: str = "") -> str:
    return f'{name}["Custom (prompt: do {name}{", " + more if more else ""})"]:::CustomOp'


CHAIN = (
    custom("A"),
    custom("B"),
    custom("C"),
    "PROBLEM -->|input| A",
    "A -->|input| B",
    "B -->|input| C",
    "C --> RETURN",
)
Said = Mapping[str, Any] | str


class World:
    """An endpoint whose reviser answers one after the other of ``says``, then {}. Nodes answer with what they are told to do."""

    def __init__(self, *says: Said, failing: Sequence[str] = ()) -> None:
        self.says, self.failing = list(says), failing
        self.views: list[dict[str, Any]] = []
        self.endpoint = FakeEndpoint(self.answer)
        self.store = MemoryStore()
        self.events: list[Any] = []

    def answer(self, request: ModelRequest) -> str | Exception:
        first = request.messages[0].content
        if first.startswith("You look after"):
            self.views.append({"messages": [one.content for one in request.messages]})
            said = self.says.pop(0) if self.says else {}
            return said if isinstance(said, str) else json.dumps(said)
        told = first.split("\n")[0]
        return EndpointFailure("no", transient=False) if told in self.failing else told

    def run(self, first: Workflow, *, fresh: bool = False, **refine: Any) -> RunResult:
        async def whole() -> RunResult:
            run = start(
                first, {"problem": "x"}, endpoint=self.endpoint, store=self.store, run_id="r", reviser=ModelReviser(),
                options=RunOptions(refine=refine, fresh=fresh),
            )  # fmt: skip
            async for event in run.events():
                self.events.append(event)
            return await run.result()

        return asyncio.run(whole())

    @property
    def asked(self) -> list[str]:
        told = [request.messages[0].content.split("\n")[0] for request in self.endpoint.seen]
        return [one for one in told if not one.startswith("You look")]

    def states(self) -> list[str]:
        return [event.event.removeprefix("revision_") for event in self.events if event.event.startswith("revision_")]


def changes(*several: Mapping[str, Any], reason: str = "better so") -> dict[str, Any]:
    return {"reason": reason, "changes": list(several)}


def test_every_finished_nodes_a_model_may_change_the_rest() -> None:
    world = World(changes({"do": "edit", "id": "C", "objective": "do it well"}))
    result = world.run(workflow(*CHAIN), every=2)
    assert result.status == "finished"
    assert world.asked == ["do A", "do B", "do it well"]
    assert world.states() == ["opened", "applied"]
    (record,) = world.store.revisions("r")
    assert (record.trigger, record.state, record.reason) == ("every", "applied", "better so")
    view = json.loads(record.view)
    assert [one["status"] for one in view["nodes"]] == ["finished", "finished", "waiting"]
    assert view["nodes"][0]["result"] == "do A"
    # The question is a call of the run, told apart from those of nodes.
    calls = [call for call in world.store.calls("r") if call.key.node == "@revise"]
    assert [(call.key.redo, call.key.step) for call in calls] == [(1, "revise")]
    assert result.usage.calls >= 0


def test_nothing_changes_and_nobody_is_asked_when_nothing_waits() -> None:
    world = World({})
    assert world.run(workflow(*CHAIN), every=1).status == "finished"
    assert world.states() == ["opened", "unchanged"] * 2
    assert World().run(workflow(*CHAIN), every=3).status == "finished"
    off = World()
    off.run(workflow(*CHAIN), every=1, max=0)
    assert off.states() == []


@pytest.mark.parametrize(
    ("given", "asked"), [({}, 1), ({"max": 5}, 2), ({"every": 2}, 1), ({"every": 3, "max": 5}, 0), ({"max": 0}, 0)]
)
def test_what_is_given_for_a_run_goes_over_what_the_workflow_says(given: dict[str, Any], asked: int) -> None:
    """Two nodes end while something waits; what is not given is as the workflow has it."""
    world = World()
    assert world.run(workflow(*CHAIN, front="{refine: {every: 1, max: 1}}"), **given).status == "finished"
    assert world.states() == ["opened", "unchanged"] * asked


def test_a_failure_is_mended() -> None:
    world = World(changes({"do": "edit", "id": "B", "objective": "do less"}), failing=["do B"])
    result = world.run(workflow(*CHAIN), every=0)
    assert result.status == "finished"
    assert world.asked == ["do A", "do B", "do less", "do C"]
    assert json.loads(world.store.revisions("r")[0].view)["nodes"][1]["status"] == "failed"


SHORT = "{validators: {short: {if: len(output) < 3}}}"


@pytest.mark.parametrize(("way", "on"), [("fail", ["invalid"]), ("refine", [])])
def test_a_result_that_is_not_valid_is_mended(way: str, on: list[str]) -> None:
    """`on_invalid: refine` asks for it, and so does a reviser that looks at such results."""
    lines = [custom("A"), custom("B", f"validate: short, attempts: 2, on_invalid: {way}"), *CHAIN[2:]]
    world = World(changes({"do": "edit", "id": "B", "objective": "go"}))
    result = world.run(workflow(*lines, front=SHORT), every=0, on=on)
    assert (result.status, world.states()) == ("finished", ["opened", "applied"])
    assert world.asked == ["do A", "do B", "do B", "go", "do C"]
    (record,) = world.store.revisions("r")
    assert record.trigger == "invalid"
    none = World()
    assert none.run(workflow(*lines, front=SHORT), every=0, on=[]).status == "failed"
    assert none.states() == (["opened", "unchanged"] if way == "refine" else [])


def test_a_failure_that_is_not_mended_is_not_tried_again_and_ends_the_run() -> None:
    world = World(
        changes({"do": "add", "id": "D", "objective": "more", "after": ["A"], "before": ["C"]}), failing=["do B"]
    )
    result = world.run(workflow(*CHAIN), every=0)
    assert result.status == "failed"
    assert world.asked.count("do B") == 1
    world = World({}, failing=["do B"])
    assert world.run(workflow(*CHAIN), every=0).status == "failed"
    assert world.states() == ["opened", "unchanged"]


def test_an_answer_that_can_not_be_used_is_sent_back_and_at_last_refused() -> None:
    world = World(
        "no json", changes({"do": "remove", "id": "X"}), changes({"do": "edit", "id": "C", "objective": "do it"})
    )
    assert world.run(workflow(*CHAIN), every=2).status == "finished"
    assert world.asked[-1] == "do it"
    assert "That can't be used: It has no JSON object" in world.views[1]["messages"][-1]
    assert "There is no node X." in world.views[2]["messages"][-1]
    world = World(*(f"nonsense {number}" for number in range(9)))
    assert world.run(workflow(*CHAIN), every=2).status == "finished"
    assert len(world.views) == 4
    assert world.states() == ["opened", "refused"]
    assert "in 4 attempts" in world.store.revisions("r")[0].reason
    assert world.asked == ["do A", "do B", "do C"]
    world = World(*["nonsense"] * 9)
    assert world.run(workflow(*CHAIN), every=2).status == "finished"
    assert [len(view["messages"]) for view in world.views] == [
        2,
        4,
        2,
    ]  # the same again is not sent back, nor asked for


HOSTILE: dict[str, tuple[Said, str]] = {
    "gone": (changes({"do": "edit", "id": "NOPE", "objective": "x"}), "There is no node NOPE."),
    "deletes everything": (changes(*({"do": "remove", "id": one} for one in "ABC")), ""),
    "output": (changes({"do": "remove", "id": "RETURN"}), "RETURN is an output"),
    "input": (changes({"do": "rename", "id": "PROBLEM", "to": "P"}), "PROBLEM is an input"),
    "locked": (changes({"do": "edit", "id": "A", "objective": "x"}), "A is locked"),
    "into locked": (changes({"do": "link", "from": "B", "to": "A"}), "A is locked"),
    "agent": (changes({"do": "reassign", "id": "B", "agent": "root"}), "There is no agent root"),
    "cycle": (changes({"do": "link", "from": "C", "to": "B"}), "MW"),
    "unknown kind": (changes({"do": "budget", "id": "B"}), "`do` must be one of"),
    "id of the front matter": (changes({"do": "add", "id": "x: 1\nworkflow", "objective": "y"}), "can't be the id"),
    "too many": (
        changes(*({"do": "add", "id": f"N{n}", "objective": "x", "before": ["C"]} for n in range(60))),
        "are allowed",
    ),
    "empty workflow": ({"workflow": {}}, "It has no task"),
    "not a list": ({"changes": "all"}, "must be a list"),
    "nothing in the list": ({"changes": [None]}, "Change 1 must be an object."),
    "more changes than are read": (changes(*[{"do": "redo", "id": "B"}] * 101), "write at most 100"),
    "after itself": (changes({"do": "add", "id": "D", "objective": "x", "after": ["D"]}), "There is no node D."),
    "before an input": (
        changes({"do": "add", "id": "D", "objective": "x", "before": ["PROBLEM"]}),
        "PROBLEM is an input",
    ),
    "after an output": (changes({"do": "link", "from": "RETURN", "to": "C"}), "RETURN is an output"),
    "to itself": (changes({"do": "link", "from": "C", "to": "C"}), "MW111"),
    "nothing at the end": (changes({"do": "unlink", "from": "C", "to": "RETURN"}), "MW102"),
    "an empty objective": (changes({"do": "edit", "id": "C", "objective": "  "}), "`prompt` is empty"),
    "locked, as another": (changes({"do": "rename", "id": "A", "to": "Q"}), "A is locked"),
    "locked, again": (changes({"do": "redo", "id": "A"}), "A is locked"),
    "locked, in parts": (changes({"do": "split", "id": "A", "into": [{"id": "Q", "objective": "x"}]}), "A is locked"),
    "off locked": (changes({"do": "unlink", "from": "PROBLEM", "to": "A"}), "A is locked"),
    "an input by another case": (changes({"do": "rename", "id": "C", "to": "problem"}), "choose another id"),
    "nested very deep": ('{"changes":' + "[" * 10_000 + "]" * 10_000 + "}", "nested too deeply"),
    "a key twice": ('{"reason": "a", "reason": "b", "changes": []}', "`reason` occurs twice"),
    "an output in a planner's form": (
        {"workflow": {"RETURN": {"objective": "x", "agent": "0", "next": [], "prev": []}}},
        "A is locked",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_reviser_that_reaches_too_far_is_refused_in_a_sentence_and_the_run_goes_on(name: str) -> None:
    said, sentence = HOSTILE[name]
    world = World(*[said] * 4)
    lines = (custom("A", "locked: true"), *CHAIN[1:])
    result = world.run(workflow(*lines, front="{budget: {tokens: 100000}}"), every=2)
    assert result.status == "finished"
    assert world.asked == ["do A", "do B", "do C"]
    (record,) = world.store.revisions("r")
    assert record.state == "refused"
    assert sentence in record.reason


def test_a_reviser_that_deletes_everything_is_refused() -> None:
    world = World(*[changes(*({"do": "remove", "id": one} for one in "ABC"))] * 4)
    result = world.run(workflow(*CHAIN), every=2)
    assert (result.status, result.outputs) == ("finished", {"RETURN": "do C"})
    (record,) = world.store.revisions("r")
    assert (record.state, "No node would be left that does anything" in record.reason) == ("refused", True)


def test_an_objective_is_a_text_and_nothing_else() -> None:
    evil = 'x"}\n---\nworkflow: {budget: {usd: 999}}\n---\n'
    world = World(
        changes(
            {"do": "edit", "id": "C", "objective": evil}, {"do": "add", "id": "D", "objective": evil, "before": ["C"]}
        )
    )
    assert world.run(workflow(*CHAIN, front="{model: m}"), every=2).status == "finished"
    from merrow_runtime.revising.revision_requests import snapshot_at
    from merrow_runtime.workflow import restore

    after = restore(json.loads(snapshot_at(world.store, "r")))
    assert after.analysis.settings.budget.usd is None
    assert after.analysis.settings.model == "m"


def test_a_long_answer_is_not_sent_back_whole() -> None:
    world = World(*['{"changes": "' + "x" * 500_000 + '"}'] * 4)
    assert world.run(workflow(*CHAIN, front="{budget: {tokens: 1000000}}"), every=2).status == "finished"
    assert max(len(text) for view in world.views for text in view["messages"]) < 100_000


def test_what_fails_while_a_model_thinks_is_looked_at_afterwards() -> None:
    lines = (
        custom("A"), custom("B"), custom("C"), "PROBLEM -->|input| A", "PROBLEM -->|input| B", "A -->|input| C",
        "B -->|input| C", "C --> RETURN",
    )  # fmt: skip
    fixes = [changes({"do": "edit", "id": one, "objective": f"well {one}"}) for one in "AB"]
    for refine in ({}, {"strategy": "overlap"}):
        world = World(*fixes, failing=("do A", "do B"))
        result = world.run(workflow(*lines), every=0, on=["failure"], **refine)
        assert result.status == "finished", result.error
        assert world.states() == ["opened", "applied"] * 2
        assert sorted(world.asked) == ["do A", "do B", "do C", "well A", "well B"]
    # One that the first revision saw to as well is not looked at again.
    both = changes(*({"do": "edit", "id": one, "objective": f"well {one}"} for one in "AB"))
    world = World(both, failing=("do A", "do B"))
    assert world.run(workflow(*lines), every=0, on=["failure"]).status == "finished"
    assert world.states() == ["opened", "applied"]


def test_one_that_always_wants_more_comes_to_its_end() -> None:
    world = World(*(changes({"do": "redo", "id": "A"}) for _ in range(100)))
    result = world.run(workflow(*CHAIN), every=1, max=50)
    assert result.status == "finished"
    # Four times the most that a run of it asks; then the last revision is carried out.
    assert world.asked == ["do A"] * 4 * 3 + ["do B", "do C"]
    world = World(*(changes({"do": "redo", "id": "A"}) for _ in range(100)))
    world.run(workflow(*CHAIN), every=1, max=2)
    assert [one.state for one in world.store.revisions("r")] == ["applied"] * 2


class Metered(World):
    """One whose questions to the reviser use 100 tokens each, and cost a dollar where that is known."""

    cost: float | None = 1.0

    def answer(self, request: ModelRequest) -> Any:
        said = super().answer(request)
        if isinstance(said, str) and request.messages[0].content.startswith("You look after"):
            return ModelReply(said, usage=Usage(90, 10, 1, self.cost))
        return said


@pytest.mark.parametrize(
    ("budget", "asked"),
    [
        ({"tokens": 1}, 1), ({"tokens": 100}, 1), ({"tokens": 101}, 2), ({"tokens": 250}, 3), ({"usd": 1.0}, 1),
        ({"usd": 1.5}, 2), ({"usd": 2.0}, 2),
    ],
)  # fmt: skip
def test_a_reviser_has_a_budget_of_its_own(budget: dict[str, Any], asked: int) -> None:
    world = Metered(*(changes({"do": "redo", "id": "A"}) for _ in range(100)))
    world.endpoint.price = lambda _: Price(10_000.0, 10_000.0)  # type: ignore[attr-defined]
    assert world.run(workflow(*CHAIN), fresh=True, every=1, max=50, **budget).status == "finished"
    assert len(world.views) == asked


@pytest.mark.parametrize(
    ("budget", "cost", "asked", "used_up"),
    [
        ({"tokens": 150}, 1.0, 2, "150 tokens (`tokens` of refine)"),
        ({"usd": 1.5, "tokens": 1_000}, 1.0, 2, "1.5 US dollars (`usd` of refine)"),
        ({"usd": 1_500.0}, None, 1, "1500 US dollars (`usd` of refine)"),
        ({"usd": 1.0, "tokens": 100}, 1.0, 1, "100 tokens (`tokens` of refine)"),
    ],
)
def test_a_reviser_whose_budget_is_used_up_is_not_asked_once_more_about_an_answer(
    budget: dict[str, Any], cost: float | None, asked: int, used_up: str
) -> None:
    """What it used counts as used up where nobody knows what it cost."""
    world = Metered(*["no json"] * 4)
    world.cost = cost
    world.endpoint.price = lambda _: Price(10_000.0, 10_000.0)  # type: ignore[attr-defined]
    assert world.run(workflow(*CHAIN), every=2, max=1, **budget).status == "finished"
    (record,) = world.store.revisions("r")
    assert (len(world.views), record.state) == (asked, "refused")
    assert record.reason == f"The model that revises has used up its {used_up}."


FOUND: dict[str, Any] = {
    "kept": [], "reset": [], "added": [], "removed": [], "changed": [], "renamed": {}, "redone": [], "refused": [],
}  # fmt: skip


def told(world: World) -> list[tuple[str, Any]]:
    """What events told of revisions, each without what it has in common with the others; and that the journal has the same."""
    for record in world.store.revisions("r"):
        last = [event for event in world.events if event.data.get("revision") == record.number][-1]
        assert (last.event, last.data["trigger"]) == (f"revision_{record.state}", record.trigger)
        assert (last.data.get("reason", ""), last.data.get("diff", {})) == (record.reason, record.adopted)
        assert bool(record.text) == (record.state == "applied" or "ask" in record.reason or "want" in record.reason)
    return [
        (event.event.removeprefix("revision_"), {name: one for name, one in event.data.items() if name != "trigger"})
        for event in world.events
        if event.event.startswith("revision_")
    ]


def test_what_comes_of_each_revision_is_told_and_kept() -> None:
    last = changes({"do": "edit", "id": "D", "objective": "do it well"}, reason="last")
    world = World({"reason": "fine as it is", "changes": []}, *["no json"] * 4, last)
    lines = (*CHAIN[:-1], custom("D"), custom("E"), "C -->|input| D -->|input| E --> RETURN")
    assert world.run(workflow(*lines), every=1, max=3).status == "finished"
    refused = told(world)[3][1]["reason"]
    assert told(world) == [
        ("opened", {"revision": 1}),
        ("unchanged", {"revision": 1, "reason": "fine as it is"}),
        ("opened", {"revision": 2}),
        ("refused", {"revision": 2, "reason": refused, "diff": {**FOUND, "refused": [refused]}}),
        ("opened", {"revision": 3}),
        ("applied", {"revision": 3, "reason": "last", "diff": {**FOUND, "kept": ["A", "B", "C"], "changed": ["D"],
                                                               "tasks": {"initial": 5, "changed": ["D"]}}}),
    ]  # fmt: skip


@pytest.mark.parametrize("apply", [True, False])
def test_a_revision_that_waits_for_a_person_says_what_it_would_change(apply: bool) -> None:
    async def whole() -> World:
        world = World(changes({"do": "edit", "id": "C", "objective": "do it well"}))
        run = start(workflow(*CHAIN), {"problem": "x"}, endpoint=world.endpoint, store=world.store, run_id="r",
                    reviser=ModelReviser(), options=RunOptions(refine={"every": 2, "ask": True}))  # fmt: skip
        async for event in run.events():
            world.events.append(event)
            if event.event == "revision_waiting":
                (record,) = world.store.revisions("r")
                assert (record.state, record.adopted) == ("waiting", event.data["diff"])
                run.decide(1, apply=apply)
        await run.result()
        return world

    world = asyncio.run(whole())
    found = {**FOUND, "kept": ["A", "B"], "changed": ["C"]}
    no = {"reason": "You did not want it.", "diff": {**FOUND, "refused": ["You did not want it."]}}
    assert told(world) == [
        ("opened", {"revision": 1}),
        ("waiting", {"revision": 1, "reason": "better so", "diff": found}),
        (
            "applied",
            {"revision": 1, "reason": "better so", "diff": {**found, "tasks": {"initial": 3, "changed": ["C"]}}},
        )
        if apply
        else ("refused", {"revision": 1, **no}),
    ]


@pytest.mark.parametrize(
    ("front", "options", "refine", "model"),
    [
        ("model: wm", {}, {}, "wm"),
        ("model: wm", {"model": "om"}, {}, "om"),
        ("model: wm", {"model": "om"}, {"model": "rm"}, "rm"),
        ("model: wm", {}, {"model": "rm"}, "rm"),
        ("", {}, {}, "nm"),
    ],
)
def test_a_reviser_asks_its_own_model_and_takes_nothing_else_over_from_nodes(
    front: str, options: dict[str, Any], refine: dict[str, Any], model: str
) -> None:
    world = World(changes({"do": "edit", "id": "C", "objective": "do it well"}))
    more = "model: nm, temperature: 0.9, max_tokens: 77, seed: 3, timeout: 9, retries: 1"
    lines = [custom("A", f"{more}, samples: 2"), *CHAIN[1:]]

    async def whole() -> None:
        run = start(workflow(*lines, front=f"{{{front}}}"), {"problem": "x"}, endpoint=world.endpoint, store=world.store,
                    reviser=ModelReviser(), options=RunOptions(refine={"every": 1, "max": 1, **refine}, **options))  # fmt: skip
        assert (await run.result()).status == "finished"

    asyncio.run(whole())
    asked = [one for one in world.endpoint.seen if one.messages[0].content.startswith("You look")]
    assert [(one.model, one.temperature, one.max_tokens, one.seed) for one in asked] == [(model, 0.0, None, None)]


def test_nodes_are_called_what_they_were_called_first_however_often_they_are_renamed() -> None:
    flow = workflow(*CHAIN)
    assert called_before({}, {}, flow) == {}
    assert called_before({}, {"A": "X", "B": "B"}, flow) == {"A": "X"}
    # Renamed again; renamed back; gone; as it was.
    known = {"X": "FIRST", "Y": "B", "GONE": "G", "C": "Z"}
    assert called_before(known, {"A": "X", "B": "Y"}, flow) == {"A": "FIRST", "C": "Z"}
    assert called_before({"A": "B", "B": "A"}, {"A": "B", "B": "A"}, flow) == {}


def test_the_budget_of_a_reviser_counts_what_it_used_before_a_resume() -> None:
    world = Metered(*(changes({"do": "redo", "id": "A"}) for _ in range(100)))

    async def stopped() -> None:
        refine = {"every": 1, "max": 50, "tokens": 150}
        run = start(workflow(*CHAIN), {"problem": "x"}, endpoint=world.endpoint, store=world.store, run_id="r",
                    reviser=ModelReviser(), options=RunOptions(refine=refine, fresh=True))  # fmt: skip
        async for event in run.events():
            if event.event == "revision_applied":
                run.cancel()
        await run.result()

    asyncio.run(stopped())
    assert len(world.views) == 1

    async def continued() -> RunResult:
        return await resume("r", endpoint=world.endpoint, store=world.store, reviser=ModelReviser()).result()

    assert asyncio.run(continued()).status == "finished"
    assert len(world.views) == 2


def test_dollars_of_a_reviser_need_a_price() -> None:
    world = Metered()
    with pytest.raises(UsageFailure, match=r"The price of .* is not known, so a budget in US dollars can't be kept"):
        world.run(workflow(*CHAIN), every=1, usd=1.5)
    assert world.endpoint.seen == []


def test_the_form_of_a_planner_is_read_too() -> None:
    plan = {
        "workflow": {
            "A": {"objective": "do A", "agent_id": 0, "next": ["B"], "prev": []},
            "B": {"objective": "do B", "agent_id": 0, "next": ["C"], "prev": ["A"]},
            "C": {"objective": "do C anew", "agent_id": 0, "next": [], "prev": ["B"]},
        },
        "agents": [{"id": "Agent 0", "role": "r"}],
    }
    world = World(plan)
    assert world.run(workflow(*CHAIN), every=2).status == "finished"
    assert world.asked == ["do A", "do B", "do C anew"]


def test_overlap_lets_the_run_go_on_and_wait_does_not() -> None:
    def slow(world: World) -> Callable[[ModelRequest], Any]:
        before = world.answer

        async def answer(request: ModelRequest) -> Any:
            if request.messages[0].content.startswith("You look"):
                world.during = len(world.asked)  # type: ignore[attr-defined]
                for _ in range(500):
                    await asyncio.sleep(0)
                world.during = len(world.asked) - world.during  # type: ignore[attr-defined]
            return before(request)

        return answer

    for strategy, goes_on in (("wait", False), ("overlap", True)):
        world = World(changes({"do": "redo", "id": "A"}))
        world.endpoint._answer = slow(world)
        assert world.run(workflow(*CHAIN), every=1, max=1, strategy=strategy).status == "finished"
        assert bool(world.during) == goes_on, strategy  # type: ignore[attr-defined]
        assert world.asked.count("do A") == 2


@pytest.mark.parametrize(("strategy", "goes_on"), [("wait", False), ("overlap", True)])
def test_a_person_goes_first_while_a_model_thinks(strategy: str, goes_on: bool) -> None:
    async def whole() -> World:
        world = World(changes({"do": "edit", "id": "C", "objective": "do it well"}))
        before, thought = world.answer, asyncio.Event()

        async def answer(request: ModelRequest) -> Any:
            if request.messages[0].content.startswith("You look"):
                await thought.wait()
            return before(request)

        world.endpoint._answer = answer
        run = start(workflow(*CHAIN), {"problem": "x"}, endpoint=world.endpoint, store=world.store, run_id="r",
                    reviser=ModelReviser(), options=RunOptions(refine={"every": 1, "max": 1, "strategy": strategy}))  # fmt: skip
        async for event in run.events():
            world.events.append(event)
            if event.event == "revision_opened" and event.data["trigger"] == "every":
                longer = [*CHAIN, custom("E"), "C -->|input| E", "E --> RETURN"]
                longer.remove("C --> RETURN")
                assert (await run.revise(workflow(*longer))).state == "applied"
                for _ in range(200):
                    await asyncio.sleep(0)
                assert ("do B" in world.asked) is goes_on
                thought.set()
        assert (await run.result()).status == "finished"
        return world

    world = asyncio.run(whole())
    assert world.asked[-1] == "do E"
    assert "do it well" in world.asked, "the model's is tried on the person's graph"
    assert [one.trigger for one in world.store.revisions("r")] == ["every", "person"]


def test_a_person_goes_before_a_model_that_came_first() -> None:
    """Both wait until somebody has decided on what a model wanted before."""

    async def whole() -> World:
        world = World(*(changes({"do": "edit", "id": "C", "objective": wanted}) for wanted in ("do well", "do better")))
        before, held = world.answer, asyncio.Event()

        async def answer(request: ModelRequest) -> Any:
            if request.messages[0].content.startswith("do B"):
                await held.wait()
            return before(request)

        world.endpoint._answer = answer
        flow = [*CHAIN[:3], "PROBLEM -->|input| A & B", "A & B -->|input| C", "C --> RETURN"]
        longer = [*flow[:-1], custom("E"), "C -->|input| E", "E --> RETURN"]
        run = start(workflow(*flow), {"problem": "x"}, endpoint=world.endpoint, store=world.store, run_id="r",
                    reviser=ModelReviser(), options=RunOptions(refine={"every": 1, "max": 2, "ask": True}))  # fmt: skip
        asked: asyncio.Task[Any] | None = None
        async for event in run.events():
            world.events.append(event)
            if event.event == "revision_waiting" and event.data["revision"] == 1:
                held.set()
            elif event.event == "revision_opened" and event.data["revision"] == 2:
                while len(world.views) < 2:
                    await asyncio.sleep(0)
                for _ in range(200):
                    await asyncio.sleep(0)
                asked = asyncio.create_task(run.revise(workflow(*longer)))
                while len(world.store.revisions("r")) < 3:
                    await asyncio.sleep(0)
                run.decide(1, apply=False)
            elif event.event == "revision_waiting":
                run.decide(2, apply=True)
        assert (await run.result()).status == "finished"
        assert asked is not None
        assert (await asked).state == "applied"
        return world

    world = asyncio.run(whole())
    assert [(event.event.removeprefix("revision_"), event.data["revision"]) for event in world.events
            if event.event in ("revision_waiting", "revision_refused", "revision_applied")] == [
        ("waiting", 1), ("refused", 1), ("applied", 3), ("waiting", 2), ("applied", 2),
    ]  # fmt: skip
    assert world.asked[-2:] == ["do better", "do E"]


@pytest.mark.parametrize("letter", ["x", "\u6f22", '"', "\n", "\u00e9", "\\", "\x01"], ids=ascii)
def test_a_model_is_shown_agents_choices_and_as_much_text_as_its_limit_takes(letter: str) -> None:
    long = f"a{letter}" * 20_000

    class Long(World):
        def answer(self, request: ModelRequest) -> str | Exception:
            if request.messages[0].content.startswith("You look after"):
                return super().answer(request)
            return long if request.schema is None else json.dumps({"response": "good"})

    flow = workflow(
        'A@{op: Custom, prompt: "do A", agent: critic}', 'J@{op: Custom, prompt: "judge", returns: Mood}',
        "D{which?}:::DecisionOp", 'B@{op: Custom, prompt: "do B"}', 'C@{op: Custom, prompt: "do C"}', custom("E"),
        "PROBLEM -->|input| A -->|input| J -->|when| D", "A -->|value| D", "D -->|good| B", "D -->|bad| C",
        "B & C -->|input| E --> RETURN", front="{types: {Mood: [good, bad]}, agents: {critic: {role: a strict critic}}}",
    )  # fmt: skip
    sizes = []
    for tokens in (1000, 4000):
        world = Long()
        assert world.run(flow, every=3, max=1, view=tokens).status == "finished"
        (record,) = world.store.revisions("r")
        view = json.loads(record.view)
        assert view["agents"] == {"critic": "a strict critic"}
        a, j, d, *_ = view["nodes"]
        assert (a["agent"], j["result"], d["chose"]) == ("critic", "good", "good")
        assert ("agent" in j, "result" in d) == (False, False)
        assert a["result"] == long[: len(a["result"]) - 1] + "\u2026"
        sizes.append(estimate_tokens(record.view))
        assert tokens / 4 < sizes[-1] <= tokens
    assert sizes[0] < sizes[1]


def test_a_model_is_told_what_is_locked() -> None:
    world = World()
    assert world.run(workflow(custom("A", "locked: true"), *CHAIN[1:]), every=2).status == "finished"
    (record,) = world.store.revisions("r")
    shown = json.loads(record.view)["nodes"]
    assert [one["id"] for one in shown if one.get("locked")] == ["A"]
    assert "locked" in world.views[0]["messages"][1]


def test_a_person_is_asked_where_that_is_wanted() -> None:
    async def whole(*, apply: bool) -> tuple[World, RunResult]:
        world = World(changes({"do": "edit", "id": "C", "objective": "do it well"}))
        run = start(workflow(*CHAIN), {"problem": "x"}, endpoint=world.endpoint, store=world.store, run_id="r",
                    reviser=ModelReviser(), options=RunOptions(refine={"every": 2, "ask": True}))  # fmt: skip
        async for event in run.events():
            world.events.append(event)
            if event.event == "revision_waiting":
                assert event.data["diff"]["changed"] == ["C"]
                with pytest.raises(UsageFailure, match=r"^Revision 7 of this run is not waiting for a decision\.$"):
                    run.decide(7, apply=apply)
                run.decide(event.data["revision"], apply=apply)
                with pytest.raises(UsageFailure, match=r"^Revision 1 of this run is not waiting for a decision\.$"):
                    run.decide(event.data["revision"], apply=not apply)
        return world, await run.result()

    world, _ = asyncio.run(whole(apply=True))
    assert world.states() == ["opened", "waiting", "applied"]
    assert world.asked[-1] == "do it well"
    world, _ = asyncio.run(whole(apply=False))
    assert world.states() == ["opened", "waiting", "refused"]
    assert world.asked[-1] == "do C"


def test_a_revision_that_was_open_is_asked_again_on_a_resume_and_not_paid_twice() -> None:
    world = World(changes({"do": "edit", "id": "C", "objective": "do it well"}))

    async def first() -> None:
        run = start(workflow(*CHAIN), {"problem": "x"}, endpoint=world.endpoint, store=world.store, run_id="r",
                    reviser=ModelReviser(), options=RunOptions(refine={"every": 2, "ask": True}))  # fmt: skip
        async for event in run.events():
            if event.event == "revision_waiting":
                run.cancel()
        await run.result()

    async def second() -> RunResult:
        run = resume("r", endpoint=world.endpoint, store=world.store, reviser=ModelReviser())
        async for event in run.events():
            if event.event == "revision_waiting":
                run.decide(event.data["revision"], apply=True)
        return await run.result()

    asyncio.run(first())
    assert asyncio.run(second()).status == "finished"
    assert len(world.views) == 1
    assert world.asked == ["do A", "do B", "do it well"]


def test_candidates_are_asked_at_once_and_what_keeps_the_most_is_taken() -> None:
    much, little = (changes({"do": "edit", "id": one, "objective": f"other {one}"}) for one in "AC")
    world = World(much, little, much)
    assert world.run(workflow(*CHAIN), every=2, candidates=3).status == "finished"
    assert world.asked == ["do A", "do B", "other C"]
    assert len(world.views) == 3


def test_a_recording_of_a_revised_run_is_replayed_with_its_revisions(tmp_path: Path) -> None:
    world = World(changes({"do": "edit", "id": "C", "objective": "do it well"}))
    recording = tmp_path / "calls.jsonl"

    async def made(endpoint: FakeEndpoint, **options: Any) -> RunResult:
        store = MemoryStore()
        given = RunOptions(refine={"every": 2}, **options)
        run = start(
            workflow(*CHAIN), {"problem": "x"}, endpoint=endpoint, store=store, options=given, reviser=ModelReviser()
        )
        return await run.result()

    first = asyncio.run(made(world.endpoint, record=recording))
    silent = FakeEndpoint()
    again = asyncio.run(made(silent, replay=recording))
    assert again.status == "finished"
    assert not silent.seen
    assert again.outputs == first.outputs == {"RETURN": "do it well"}


@pytest.mark.parametrize(
    ("refine", "sentence"),
    [
        ({"evry": 2}, "There is no `refine.evry`; the keys of `refine` are every, on, max"),
        ({"every": -1}, "`refine.every` must be"),
        ({"strategy": "hurry"}, "`refine.strategy` must be wait or overlap"),
        ({"on": ("failure", "rain")}, "`refine.on` must be"),
    ],
)
def test_what_refine_does_not_know_is_said_before_anything_is_asked(refine: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageFailure, match=sentence):
        RunOptions(refine=refine)
