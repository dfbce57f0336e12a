"""Maps: items side by side or one after another, and lists in their order."""

from __future__ import annotations

import asyncio
import json
from random import Random

import pytest
from tests.runtime.composites.loops import asks, box, custom, data, flow, ran, says
from tests.runtime.engine.fakes import FakeEndpoint

import merrow_runtime
from merrow_runtime import RunOptions, Workflow
from merrow_runtime.errors import NodeFailure
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.memory import MemoryStore

LIST = 'LIST["Custom (prompt: LIST, returns: list[Text])"]:::CustomOp'
ALL = custom("ALL")


def mapped(title: str = "Map (max: 50)", *lines: str, work: str = custom("WORK")) -> Workflow:
    """A list, something done with each of its items, and all that came of it."""
    return flow(
        LIST,
        box("M", title, work),
        ALL,
        "PROBLEM -->|input| LIST & ALL",
        "LIST -->|each:input| WORK",
        "WORK -->|input| ALL",
        "ALL --> RETURN",
        *lines,
    )


def doubled(request: ModelRequest) -> str:
    return data(request) * 2


@pytest.mark.parametrize("count", [1, 2, 7])
async def test_lists_come_out_in_the_order_of_the_items_whatever_ends_first(count: int) -> None:
    items = [f"item{number}" for number in range(count)]
    chance = Random(count)

    async def slowly(request: ModelRequest) -> str:
        if asks(request) == "LIST":
            return json.dumps({"response": items})
        await asyncio.sleep(chance.random() / 50)
        return doubled(request) if asks(request) == "WORK" else "done"

    endpoint = FakeEndpoint(slowly)
    done = await merrow_runtime.run(
        mapped(), {"problem": "x"}, endpoint=endpoint, store=MemoryStore(), options=RunOptions(fresh=True)
    )
    assert done.outputs == {"RETURN": "done"}, done.error
    given = done.nodes["ALL"].inputs
    assert given is not None
    assert given["input"][1]["value"] == [item * 2 for item in items]
    assert [name for name in done.nodes if name.startswith("M[")] == sorted(
        [f"M[{n}]/WORK" for n in range(1, count + 1)], key=list(done.nodes).index
    )


@pytest.mark.parametrize(("title", "most"), [("Map (parallel: 2)", 2), ("Map (parallel: 5)", 5), ("Map ()", 3)])
async def test_so_many_items_are_under_way_at_once(title: str, most: int) -> None:
    endpoint = FakeEndpoint(says(LIST=[list("abcdefgh")]))
    options = RunOptions(fresh=True, concurrency=3 if "parallel" not in title else 20)
    result = await merrow_runtime.run(
        mapped(title), {"problem": "x"}, endpoint=endpoint, store=MemoryStore(), options=options
    )
    assert result.status == "finished"
    assert endpoint.most_flying == most


async def test_with_again_items_go_one_after_another_and_hand_on_their_value() -> None:
    workflow = mapped("Map (parallel: 9)", "WORK -.->|again:input| WORK")
    done = await ran(workflow, says(LIST=[["a", "b", "c"]], WORK=["one", "two", "three"]))
    given = [data(request) for request in done.endpoint.seen if asks(request) == "WORK"]
    assert given[0] == "a"
    assert "\nb\n" in given[1]
    assert "\none\n" in given[1]
    assert "\nc\n" in given[2]
    assert "\ntwo\n" in given[2]
    assert "one" not in given[2]
    assert done.endpoint.most_flying == 1


def failing(item: str) -> object:
    def work(request: ModelRequest) -> object:
        return NodeFailure(f"Node WORK: {item} is odd.", node="WORK") if data(request) == item else doubled(request)

    return work


@pytest.mark.parametrize(("said", "out"), [("fail", None), ("skip", ["aa", "cc"]), ("default", ["aa", "none", "cc"])])
async def test_an_item_that_fails(said: str, out: list[str] | None) -> None:
    workflow = mapped(f"Map (on_error: {said})", work=custom("WORK", "default: none"))
    done = await ran(workflow, says(LIST=[["a", "b", "c"]], WORK=failing("b")))
    assert [(event.data["item"], event.data["of"]) for event in done.events if event.event == "item_failed"] == [(2, 3)]
    if out is None:
        assert done.result.status == "failed"
        assert done.result.failure is not None
        assert done.result.failure.path == "M[2]"
        return
    inputs = done.record("ALL").inputs
    assert inputs is not None
    assert inputs["input"][1]["value"] == out


@pytest.mark.parametrize(
    ("returns", "answer", "empty"),
    [("Text", "fine", ""), ("Number", 7, 0), ("Bool", True, False), ("list[Text]", ["x"], [])],
)
async def test_an_item_that_fails_gives_an_empty_value_where_its_node_says_no_default(
    returns: str, answer: object, empty: object
) -> None:
    work = NodeFailure("Node WORK: b is odd.", node="WORK")
    done = await ran(
        mapped("Map (on_error: default)", work=custom("WORK", f"returns: {returns}")),
        says(LIST=[["a", "b"]], WORK=lambda request: work if data(request).startswith("b") else answer),
    )
    inputs = done.record("ALL").inputs
    assert inputs is not None
    assert inputs["input"][1]["value"] == [answer, empty]


async def test_an_item_that_fails_after_a_revision_gives_the_default_of_then() -> None:
    """The default of a node that did fail is that of the workflow as it is when it fails."""
    flows = [mapped("Map (on_error: default)", work=custom("WORK", f"default: {said}")) for said in ("old", "new")]
    asked, goes_on = asyncio.Event(), asyncio.Event()

    async def answer(request: ModelRequest) -> object:
        if asks(request) == "LIST":
            return json.dumps({"response": ["a", "b"]})
        if data(request) == "b":
            asked.set()
            await goes_on.wait()
            return NodeFailure("Node WORK: b is odd.", node="WORK")
        return doubled(request)

    run = merrow_runtime.start(
        flows[0], {"problem": "x"}, endpoint=FakeEndpoint(answer), store=MemoryStore(), options=RunOptions(fresh=True)
    )
    await asked.wait()
    assert (await run.revise(flows[1])).state == "applied"
    goes_on.set()
    inputs = (await run.result()).nodes["ALL"].inputs
    assert inputs is not None
    assert inputs["input"][1]["value"] == ["aa", "new"]


@pytest.mark.parametrize(
    ("title", "items", "sentence"),
    [
        ("Map (max: 2)", ["a", "b", "c"], "Map M: 3 items arrived, and `max` is 2; a higher `max` takes them."),
        ("Map ()", [], "Map M: no item came out of 0, and `min` is 1; a lower one allows it."),
        (
            "Map (min: 3, on_error: skip)",
            ["a", "b", "c"],
            "Map M: 2 items came out of 3, and `min` is 3; a lower one allows it.",
        ),
    ],
)
async def test_too_many_items_or_too_few(title: str, items: list[str], sentence: str) -> None:
    done = await ran(mapped(title), says(LIST=[items], WORK=failing("b")))
    assert done.result.error == sentence


async def test_as_many_items_as_there_may_be_are_taken() -> None:
    done = await ran(mapped("Map (max: 3, min: 3)"), says(LIST=[list("abc")], WORK=doubled))
    assert done.asked.count("WORK") == 3
    assert done.result.outputs


async def test_an_empty_list_gives_empty_lists() -> None:
    done = await ran(mapped("Map (min: 0)"), says(LIST=[[]]))
    assert done.result.outputs == {"RETURN": "ALL"}
    inputs = done.record("ALL").inputs
    assert inputs is not None
    assert inputs["input"][1]["value"] == []


async def test_a_case_edge_out_brings_the_items_that_took_the_case() -> None:
    workflow = flow(
        LIST,
        box(
            "M",
            "Map ()",
            'JUDGE["Custom (prompt: JUDGE, returns: Mood)"]:::CustomOp',
            "D{which?}:::DecisionOp",
            custom("FIX"),
        ),
        ALL,
        "PROBLEM -->|input| LIST",
        "LIST -->|each:input| JUDGE",
        "LIST -->|each:value| D",
        "JUDGE -->|when| D",
        "D -->|bad| FIX",
        "FIX -->|input| ALL",
        "D -->|good:input| ALL",
        "ALL --> RETURN",
    )
    verdicts = {"a": "good", "b": "bad", "c": "good", "d": "bad"}
    done = await ran(workflow, says(LIST=[list("abcd")], JUDGE=lambda request: verdicts[data(request)], FIX=doubled))
    inputs = done.record("ALL").inputs
    assert inputs is not None
    assert [one["value"] for one in inputs["input"]] == [["bb", "dd"], ["a", "c"]]


async def test_items_whose_loop_ran_out_of_turns_are_led_out_of_the_map_as_well() -> None:
    workflow = flow(
        LIST,
        box(
            "M",
            "Map ()",
            *box(
                "L",
                "Loop (max: 2)",
                'JUDGE["Custom (prompt: JUDGE, returns: Mood)"]:::CustomOp',
                "D{which?}:::DecisionOp",
            ),
        ),
        ALL,
        "PROBLEM -->|input| LIST",
        "LIST -->|each:input| JUDGE",
        "LIST -->|each:value| D",
        "JUDGE -->|when| D",
        "D -->|bad:again:input| JUDGE",
        "D -->|good:input| ALL",
        "D -->|bad:over:input| ALL",
        "ALL --> RETURN",
    )
    assert {one.code for one in workflow.analysis.diagnostics} == {"MW114"}
    items = ["fine 1", "awful 1", "fine 2", "awful 2"]
    done = await ran(workflow, says(LIST=[items], JUDGE=lambda request: "bad" if "awful" in data(request) else "good"))
    inputs = done.record("ALL").inputs
    assert inputs is not None
    assert [one["value"] for one in inputs["input"]] == [["fine 1", "fine 2"], ["awful 1", "awful 2"]]


@pytest.mark.parametrize(
    ("returns", "label", "given"),
    [
        ("Shelf", "each:books.title", ["t1", "t2"]),
        ("Shelf", "each:books.author.name", ["n1", "n2"]),
        ("Shelf", "each:films", ["f1", "f2"]),
        ("Shelf", "each:first.tags", ["x", "y"]),
        ("list[Book]", "each:author.name", ["n1", "n2"]),
    ],
)
async def test_each_takes_the_first_list_on_the_way_to_a_field_apart(
    returns: str, label: str, given: list[str]
) -> None:
    types = (
        "{types: {Author: {name: Text}, Book: {title: Text, author: Author, tags: 'list[Text]'}, "
        "Shelf: {books: 'list[Book]', films: 'list[Text]', first: Book}}}"
    )
    workflow = flow(
        custom("LIST", f"returns: {returns}"),
        box("M", "Map ()", custom("WORK")),
        ALL,
        "PROBLEM -->|input| LIST",
        f"LIST -->|{label}:input| WORK",
        "WORK -->|input| ALL",
        "ALL --> RETURN",
        front=types,
    )
    books = [{"title": f"t{n}", "author": {"name": f"n{n}"}, "tags": ["x", "y"]} for n in (1, 2)]
    shelf = {"books": books, "films": ["f1", "f2"], "first": books[0]}
    others = says(LIST=lambda _: books, WORK=doubled)

    def answer(request: ModelRequest) -> object:
        return json.dumps(shelf) if asks(request) == "LIST" and returns == "Shelf" else others(request)

    done = await ran(workflow, answer)  # type: ignore[arg-type]
    inputs = done.record("ALL").inputs
    assert inputs is not None
    assert inputs["input"][0]["value"] == [item * 2 for item in given]


async def test_what_ends_the_run_is_no_matter_of_an_item() -> None:
    """A budget that is used up is not skipped with the item that met it."""
    done = await ran(
        mapped("Map (on_error: skip, min: 0, parallel: 1)"),
        says(LIST=[["a", "b", "c"]]),
        options=RunOptions(fresh=True, budget_tokens=80),
    )
    assert done.result.status == "failed"
    assert done.result.failure is not None
    assert done.result.failure.code == "budget"
    assert done.result.failure.path == "M[1]"
    assert done.asked == ["LIST"]


async def test_a_member_that_an_outer_choice_leaves_out_brings_no_empty_list() -> None:
    workflow = flow(
        'JUDGE["Custom (prompt: JUDGE, returns: Mood)"]:::CustomOp',
        "D{which?}:::DecisionOp",
        LIST,
        box("M", "Map ()", custom("WORK"), custom("EXTRA")),
        ALL,
        "PROBLEM -->|input| JUDGE & LIST & OTHER",
        "JUDGE -->|when| D",
        "LIST -->|each:input| WORK",
        "WORK -->|input| EXTRA",
        "D -->|bad| EXTRA",
        "D -->|good| OTHER",
        custom("OTHER"),
        "WORK -->|input| ALL",
        "EXTRA -->|input| ALL",
        "OTHER -->|input| ALL",
        "ALL --> RETURN",
    )
    for mood, givers in (("bad", ["WORK", "EXTRA"]), ("good", ["WORK", "OTHER"])):
        done = await ran(workflow, says(JUDGE=mood, LIST=[["a", "b"]]))
        assert done.result.status == "finished", done.result.error
        inputs = done.record("ALL").inputs
        assert inputs is not None
        assert [one["node"] for one in inputs["input"]] == givers
        assert [event.path for event in done.events if event.event == "node_skipped" and event.node == "EXTRA"] == (
            [] if mood == "bad" else ["M[1]", "M[2]"]
        )


@pytest.mark.parametrize("chosen", ["good", "bad"])
async def test_a_case_may_bring_a_field_of_each_item(chosen: str) -> None:
    workflow = flow(
        custom("LIST", "returns: list[Book]"),
        'JUDGE["Custom (prompt: JUDGE, returns: Mood)"]:::CustomOp',
        "D{which?}:::DecisionOp",
        box("M", "Map ()", custom("W")),
        custom("E"),
        "PROBLEM -->|input| LIST & JUDGE & E",
        "LIST -->|value| D",
        "JUDGE -->|when| D",
        "D -->|good:each:title:input| W",
        "D -->|bad:input| E",
        "W -->|input| E",
        "E --> RETURN",
        front="{types: {Mood: [good, bad], Book: {title: Text}}}",
    )

    def answer(request: ModelRequest) -> str:
        if asks(request) == "LIST":
            return json.dumps({"response": [{"title": "a"}, {"title": "b"}]})
        if request.schema is not None:
            return json.dumps(dict.fromkeys(request.schema.schema["properties"], chosen))
        return f"{asks(request)} {data(request)}"

    done = await ran(workflow, answer)
    assert done.result.status == "finished", done.result.error
    items = [done.record(f"M[{number}]/W") for number in (1, 2) if f"M[{number}]/W" in done.result.nodes]
    given = [(one.inputs or {})["input"] for one in items]
    item = {"node": "LIST", "output": "response", "type": "Text"}
    at_end = (done.record("E").inputs or {})["input"]
    if chosen == "good":
        assert given == [[{**item, "value": "a"}], [{**item, "value": "b"}]]
        assert at_end[1:] == [{"node": "W", "output": "response", "type": "list[Text]", "value": ["W a", "W b"]}]
    else:
        assert given == []
        assert at_end[1:] == [{"node": "LIST", "output": "response", "type": "list[Book]"}]
