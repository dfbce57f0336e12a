"""What a turn of a planned Call takes over from the turns before it, and what a Call says of how it stands."""

from __future__ import annotations

import json

from tests.runtime.composites.loops import box, custom, flow
from tests.runtime.planned.planning import DIAMOND, REFINES, planning, run

from merrow_runtime import RunOptions, check_workflow
from merrow_runtime.errors import EndpointFailure
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.requests import ModelRequest
from merrow_runtime.running.planned_calls import LoopTurn, Pool, Pools, results_so_far, standing
from merrow_runtime.store.contract import NodeRecord
from merrow_runtime.visit import Visit


def executed(
    node: str, key: str | None = "k", said: str | None = "", status: str = "finished", **more: object
) -> NodeRecord:
    outputs = None if said is None else {"response": said or node}
    return NodeRecord(node, status, key, outputs, **more)  # type: ignore[arg-type]


def taken(turn: LoopTurn, *names: str, key: str = "k", without: str = "") -> list[str | None]:
    """What new visits take in a turn, one after another; nothing that said ``without`` is usable."""
    found = [turn.take(Visit(name), key, lambda one: (one.outputs or {})["response"] != without) for name in names]
    return [None if one is None else (one.outputs or {})["response"] for one in found]


def test_each_execution_of_earlier_turns_is_taken_once_by_the_node_of_its_id_if_that_comes_first() -> None:
    pool = Pool()
    pool.end_turn([executed("B", started=2.0), executed("A", started=1.0), executed("C", "l")])
    pool.end_turn([executed("D", started=0.0), executed("E", None), executed("F", said=None)])
    assert taken(pool.next_turn(), "X", "Y", "Z", "W") == ["A", "B", "D", None]
    assert taken(pool.next_turn(), "B", "X", "Y", "Z") == ["B", "A", "D", None]
    assert taken(pool.next_turn(), "C", "X", key="l") == ["C", None]
    assert taken(pool.next_turn(), "X", key="m") == [None]
    assert taken(pool.next_turn(), "A", "X", "Y", without="A") == ["B", "D", None]
    # A visit that asks again gets the same, for itself alone.
    assert taken(pool.next_turn(), "X", "X", "A", "B", "X", "Y") == ["A", "A", "B", "D", "A", None]
    assert taken(Pool().next_turn(), "A") == [None]


def test_what_a_turn_had_reused_stays_one_execution() -> None:
    pool = Pool()
    pool.end_turn([executed("A", said="one", started=1.0), executed("B", said="two", started=2.0)])
    pool.end_turn([executed("X", said="two", status="reused", started=1.0), executed("Y", said="three", started=2.0)])
    assert taken(pool.next_turn(), "P", "Q", "R", "S") == ["one", "two", "three", None]
    assert taken(pool.next_turn(), "X", "B") == ["two", "one"]
    # From another run: it is new here.
    pool.end_turn([executed("Z", said="four", status="reused")])
    assert taken(pool.next_turn(), "P", "Q", "R", "S", "T") == ["one", "two", "three", "four", None]
    # What was made anew is another execution, whatever it said.
    pool.end_turn([executed("N", said="one")])
    assert taken(pool.next_turn(), "P", "Q", "R", "S", "T", "U") == ["one", "two", "three", "four", "one", None]


def test_the_key_of_a_call_follows_from_what_is_finished_however_that_came_about() -> None:
    def key(*turns: list[NodeRecord], own: str = "own") -> str:
        pool = Pool()
        for records in turns:
            pool.end_turn(records)
        return pool.stands_on(own)

    assert key() == key([]) == key([executed("A", None), executed("B", said=None)]) == "own"
    one, two = executed("A", "k"), executed("B", "l")
    assert key([one, two]) == key([two, one]) == key([one], [two]) == key([two], [one])
    several = [key([one]), key([two]), key([one, two]), key([one, executed("B", "k")]), key([one], own="other"), "own"]
    assert len(set(several)) == len(several)
    assert all(len(one) == 64 for one in several[:-1])


def test_turns_of_all_loops_around_a_call_share_and_items_of_a_map_do_not() -> None:
    inside = box("EACH", "Map (parallel: 1)", custom("B"), *box("INNER", "Loop (max: 2)", custom("A")))
    graph = flow(
        box("OUTER", "Loop (max: 2)", custom("L", "returns: list[Text]"), *inside),
        custom("C"),
        "PROBLEM -->|input| L -->|each:input| B -->|input| A -->|input| C --> RETURN",
        "A -.->|again:input| A",
        "A -.->|again:input| L",
    ).graph
    pools = Pools()

    def same(node: str, one: str, other: str) -> bool:
        return pools.of(graph, Visit(node, one)) is pools.of(graph, Visit(node, other))

    assert same("A", "OUTER[1]/EACH[2]/INNER[1]", "OUTER[2]/EACH[2]/INNER[2]")
    assert not same("A", "OUTER[1]/EACH[1]/INNER[1]", "OUTER[1]/EACH[2]/INNER[1]")
    assert same("B", "OUTER[1]/EACH[2]", "OUTER[2]/EACH[2]")
    assert not same("B", "OUTER[1]/EACH[1]", "OUTER[1]/EACH[2]")
    assert same("C", "", "")
    # In a called file the frames around the Call are others each time.
    assert same("A", "CALL/OUTER[1]/EACH[1]/INNER[1]", "CALL/OUTER[2]/EACH[1]/INNER[1]")
    assert not same("A", "L[1]/CALL/OUTER[1]/EACH[1]/INNER[1]", "L[2]/CALL/OUTER[1]/EACH[1]/INNER[1]")
    # Where only the innermost frames are known, these count.
    assert same("A", "INNER[1]", "INNER[2]")
    assert not same("A", "EACH[1]/INNER[1]", "EACH[2]/INNER[1]")
    assert pools.of(graph, Visit("A")) is not pools.of(graph, Visit("B"))


def test_a_call_tells_how_each_node_stands_in_the_order_of_the_graph_turns_and_items_in_their_order() -> None:
    checked = check_workflow("""flowchart TD
    PROBLEM([Problem]) --> A["First"] --> Q{"which?"}
    Q -->|the one| B["Second"] --> D["Fourth"] --> RETURN([Result])
    Q -->|else| C["Third"] --> D
""")
    graph, steps = checked.graph, make_steps(checked, RunOptions())
    longest, first = 1_000, json.dumps({"b": [1]}, indent=2)
    records = [
        executed("B", said="x" * (longest + 1), path="F/EACH[10]"),
        executed("B", said="x" * longest, path="F/EACH[9]"),
        executed("B", path="F/EACH[11]", said=None, status="failed", error="no luck"),
        executed("C", path="F", said=None, status="skipped"),
        executed("PROBLEM", path="F"),
        NodeRecord("A", "reused", "k", {"one": {"b": [1]}, "two": "2"}, path="F"),
        NodeRecord("Q", "finished", "k", {"choice": "the one"}, path="F"),
    ]
    assert standing(graph, steps, records, "F", done=False) == {
        "done": False,
        "nodes": [
            {"id": "A", "task": "First", "status": "finished", "result": first},
            {"id": "Q", "task": "which?", "status": "finished", "result": "the one"},
            {"id": "EACH[9]/B", "task": "Second", "status": "finished", "result": "x" * longest},
            {"id": "EACH[10]/B", "task": "Second", "status": "finished", "result": "x" * longest + "…"},
            {"id": "EACH[11]/B", "task": "Second", "status": "failed", "reason": "no luck"},
            {"id": "C", "task": "Third", "status": "skipped", "reason": ""},
            {"id": "D", "task": "Fourth", "status": "waiting"},
        ],
    }
    assert results_so_far(graph, steps, records) == "\n\n".join(
        f"## {title}\n```\n{said}\n```"
        for title, said in [("First", first), ("Second", "x" * longest), ("Second", "x" * (longest + 1))]
    )
    assert results_so_far(graph, steps, []) == ""
    assert results_so_far(graph, steps, [NodeRecord("A", "finished", "k", {})]) == "## First\n```\n\n```"


def test_a_call_that_stops_tells_results_failures_and_what_waits() -> None:
    def fails(request: ModelRequest) -> str | Exception:
        asked = request.messages[0].content.split("\n")[0]
        return EndpointFailure("no luck") if asked == "do c" else f"{asked}!"

    without = DIAMOND.replace('    A --> C["do c"] --> J\n', "")
    result, _ = run(REFINES, planning([DIAMOND, DIAMOND, without], fails))
    done = [
        {"id": name, "task": f"do {name.lower()}", "status": "finished", "result": f"do {name.lower()}!"}
        for name in "ABD"
    ]
    failed = {"id": "C", "task": "do c", "status": "failed", "reason": "no luck"}
    waiting = [
        {"id": name, "task": task, "status": "waiting"} for name, task in (("C", "do c"), ("D", "do d"), ("J", "join"))
    ]
    joined = {"id": "J", "task": "join", "status": "finished", "result": "join!"}
    told = [("## do a\n```\ndo a!\n```\n\n## do b\n```\ndo b!\n```", [*done[:2], *waiting])]
    told.append((f"{told[0][0]}\n\n## do d\n```\ndo d!\n```", [*done[:2], failed, done[2], waiting[2]]))
    told.append(("join!", [*done, joined]))
    for number, (said, nodes) in enumerate(told, 1):
        is_done = number == 3
        assert result.nodes[f"REFINE[{number}]/WORK"].outputs == {
            "result": said, "state": {"done": is_done, "nodes": nodes}, "done": is_done,
        }, number  # fmt: skip


def test_of_a_decision_that_asks_the_state_has_the_case_and_the_result_says_nothing() -> None:
    plan = """flowchart TD
    PROBLEM([Problem]) --> A["do a"] --> Q{"Is it good?"}
    Q -->|yes| B["do b"] --> RETURN([Result])
    Q -->|no| C["do c"] --> RETURN
"""

    def chooses(request: ModelRequest) -> str:
        if request.schema is not None:
            return json.dumps(dict.fromkeys(request.schema.schema["properties"], "yes"))
        return request.messages[0].content.split("\n")[0] + "!"

    result, endpoint = run(REFINES, planning([plan], chooses))
    assert [(result.nodes[f"REFINE[{turn}]/WORK"].outputs or {})["result"] for turn in (1, 2)] == [
        "## do a\n```\ndo a!\n```", "do b!",
    ]  # fmt: skip
    state = (result.nodes["WORK"].outputs or {})["state"]
    assert [(one["id"], one["status"], one.get("result", one.get("reason"))) for one in state["nodes"]] == [
        ("A", "finished", "do a!"), ("Q", "finished", "yes"), ("B", "finished", "do b!"), ("C", "skipped", "Q chose `yes`"),
    ]  # fmt: skip
    assert len([one for one in endpoint.seen if one.schema is not None]) == 1
