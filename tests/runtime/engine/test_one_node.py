"""One node on its own is given what its visit was given in an earlier run, or what is set; ``--from`` begins at a visit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.runtime.composites.loops import asks, box, custom, data, flow
from tests.runtime.engine.fakes import FakeEndpoint, answered, workflow

import merrow_runtime
from merrow_runtime import RunOptions, RunResult, UsageFailure, Workflow
from merrow_runtime.requests import ModelRequest
from merrow_runtime.running.single import Rerun
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.visit import Visit

CHAIN = ('A@{op: Custom, prompt: "first"}', 'B@{op: Custom, prompt: "second"}', "PROBLEM --> A --> B --> RETURN")


def nested() -> Workflow:
    """Turns with items; in them are a node that remembers, and one that shuffles what it is to choose from."""
    inside = (*(custom(name) for name in "ABC"), 'V["MdEnsemble"]:::MdEnsembleOp', custom("LAST", "memory: all"))
    return flow(
        box(
            "TURNS", "Loop (max: 2)", custom("LIST", "returns: list[Text]"), *box("EACH", "Map (parallel: 1)", *inside)
        ),
        custom("END"),
        "PROBLEM -->|input| LIST",
        "LIST -->|each:input| A & B & C",
        "A & B & C --> V",
        "PROBLEM -->|problem| V",
        "V -->|input| LAST",
        "LAST -.->|again:input| LIST",
        "LAST & PROBLEM -->|input| END",
        "END --> RETURN",
    )


def said(request: ModelRequest) -> str:
    if asks(request) == "LIST":
        return answered(request, f"{data(request)[:60]} listed")
    return answered(request, f"{asks(request)} of {data(request)[:60]}")


async def alone(flow: Workflow, store: Store | None = None, **options: Any) -> tuple[RunResult, FakeEndpoint]:
    endpoint, kept = FakeEndpoint(said), MemoryStore() if store is None else store
    asked = RunOptions(**{"fresh": True, **options})
    return await merrow_runtime.run(flow, endpoint=endpoint, store=kept, options=asked), endpoint


async def test_each_visit_alone_asks_what_it_asked_in_the_whole_run(tmp_path: Path) -> None:
    store, file, whole = MemoryStore(), tmp_path / "recording.jsonl", nested()
    options = RunOptions(fresh=True, record=file)
    first = await merrow_runtime.run(whole, {"problem": "x"}, endpoint=FakeEndpoint(said), store=store, options=options)
    assert first.status == "finished", first.error
    visits = {node.visit.name: node for node in store.nodes(first.run) if node.key is not None}
    assert len(visits) == 2 * 6 + 1
    for name, before in visits.items():
        result, endpoint = await alone(nested(), store, from_run=first.run, only=name, replay=file)
        assert (result.status, endpoint.seen) == ("finished", []), (name, result.error)
        again = result.nodes[before.visit.name]
        assert (again.outputs, list(again.memory)) == (before.outputs, list(before.memory))
        # Its own run has all that it was given, and so it can be run alone again.
        twice, _ = await alone(nested(), store, from_run=result.run, only=name, replay=file)
        assert (twice.outputs, twice.nodes[name].inputs) == (result.outputs, again.inputs), (name, twice.error)
        assert list(dict.fromkeys(one.visit.name for one in result.nodes.values())) == [name]
    # Of a node that is named alone it is the last visit.
    result, _ = await alone(nested(), store, from_run=first.run, only="last", replay=file)
    assert list(result.nodes) == ["TURNS[2]/EACH[1]/LAST", "LAST"]


async def test_what_is_set_takes_the_place_of_what_was_there_and_the_rest_stays() -> None:
    store = MemoryStore()
    two = workflow(
        'A@{op: Custom, prompt: "first"}', "E@{op: ScEnsemble}", 'C@{op: Custom, prompt: "third"}',
        "PROBLEM --> A & C", "A & C --> E --> RETURN",
    )  # fmt: skip
    first = await merrow_runtime.run(two, {"problem": "x"}, endpoint=FakeEndpoint(said), store=store)
    before, endpoint = await alone(two, store, from_run=first.run, only="E")
    assert "first of x" in data(endpoint.seen[0])
    assert "third of x" in data(endpoint.seen[0])
    given = [
        {"node": name, "output": "response", "type": "Text", "value": f"{said} of x"}
        for name, said in (("A", "first"), ("C", "third"))
    ]
    assert before.nodes["E"].inputs == {"solutions": given}
    for value, shown in ((["one", "two"], ["one", "two"]), ("both", ["both"])):
        result, endpoint = await alone(two, store, from_run=first.run, only="e", set_values={"e.solutions": value})
        assert result.status == "finished", result.error
        assert result.nodes["E"].inputs == {
            "solutions": [{"node": "", "output": None, "type": "T", "value": one} for one in shown]
        }
        _, same = await alone(two, store, from_run=result.run, only="E")
        assert same.seen == endpoint.seen
    result, endpoint = await alone(workflow(*CHAIN), only="B", set_values={"B.input": "given"})
    assert (result.outputs, data(endpoint.seen[0])) == ({"B": "second of given"}, "given")


NO_VISIT = "{} names no visit of LAST; write TURNS[1]/EACH[1]/LAST, with the numbers of turns and items."
REFUSED = {
    "nobody": "The workflow has no node nobody.",
    "LASTT": "The workflow has no node LASTT. Did you mean LAST?",
    "TURNS[1]/LASTT": "The workflow has no node LASTT. Did you mean LAST?",
    "TURNS[x]/LAST": "TURNS[x]/LAST names no node; write its id, or as REFINE[2]/WRITE with turns and items.",
    "TURNS[1]/LAST[": "TURNS[1]/LAST[ names no node; write its id, or as REFINE[2]/WRITE with turns and items.",
    **{
        name: NO_VISIT.format(name)
        for name in (
            "TURNS[1]/LAST", "EACH[1]/LAST", "EACH[1]/TURNS[1]/LAST", "TURNS[1]/EACH/LAST", "TURNS/EACH[1]/LAST",
            "TURNS[1]/EACH[1]/last[2]", "TURNS[1]/EACH[1]/LAST#1", "X/TURNS[1]/EACH[1]/LAST",
        )
    },
    "TURNS[1]/END": "TURNS[1]/END names no visit of END; write END.",
    "PROBLEM": "Node PROBLEM has no operator that asks or computes anything; name one that has.",
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
async def test_a_name_that_is_no_visit_is_refused_with_what_to_write(name: str) -> None:
    with pytest.raises(UsageFailure) as failure:
        await alone(nested(), only=name)
    assert str(failure.value) == REFUSED[name]
    assert failure.value.node == (
        name.rpartition("/")[2].partition("[")[0].partition("#")[0].upper()
        if "names no visit" in REFUSED[name] or name == "PROBLEM"
        else None
    )


async def test_a_port_without_a_value_is_refused_with_how_to_set_it() -> None:
    store = MemoryStore()
    first = await merrow_runtime.run(workflow(*CHAIN), {"problem": "x"}, endpoint=FakeEndpoint(said), store=store)
    other = workflow('N@{op: Custom, prompt: "new"}', *CHAIN[:2], "PROBLEM --> A --> B --> N --> RETURN")
    unset = "Port input of node N has no value; set it with: --set N.input=..."
    cases: list[tuple[dict[str, Any], str]] = [
        ({"only": "N"}, f"{unset}, or name an earlier run with --run"),
        ({"only": "N", "from_run": first.run}, unset),
        ({"only": "N", "set_values": {"N.x": "1"}}, "Node N has no port x; it has input."),
        ({"only": "N", "set_values": {"A.input": "1"}}, "A.input is not a port of the node that is run; write N.PORT."),
        ({"only": "N", "set_values": {"input": "1"}}, "input is not a port of the node that is run; write N.PORT."),
    ]
    for options, says in cases:
        with pytest.raises(UsageFailure) as failure:
            await alone(other, store, **options)
        assert str(failure.value) == says
    # What an input had is there, whoever gave it.
    result, _ = await alone(other, store, only="A", from_run=first.run)
    assert result.outputs == {"A": "first of x"}


@pytest.mark.parametrize(
    ("start", "one", "again"),
    [
        (None, "N", True),
        ("", "L[1]", True),
        ("L[2]", "", True),
        ("L[2]", "L[1]", False),
        ("L[2]", "L[2]", True),
        ("L[2]", "L[3]", True),
        ("L[2]/M[2]", "L[1]/M[3]", False),
        ("L[2]/M[2]", "L[3]/M[1]", True),
        ("L[2]/M[2]", "L[2]/M[1]", False),
        ("L[2]/M[2]", "L[2]/M[2]", True),
        ("L[2]/M[2]", "L[2]/M[3]", True),
        ("L[2]/M[2]", "L[2]", True),
        ("L[2]/M[2]", "L[1]", False),
        ("L[2]", "L[2]/M[1]", True),
        ("L[2]", "L[1]/M[9]", False),
        ("L[2]", "OTHER[1]", True),
        ("L[2]/M[2]", "L[2]/OTHER[1]", True),
        ("L[2]/M[2]", "L[2]/CALL", True),
        ("L[2]/CALL/M[2]", "L[2]/CALL/M[1]", True),
    ],
)
def test_from_a_visit_on_what_comes_later_is_made_again(start: str | None, one: str, again: bool) -> None:
    rerun = Rerun(frozenset((3, 5)), None if start is None else Visit("S", start))
    assert [rerun.covers(handle, Visit("N", one)) for handle in (3, 4, 5)] == [again, False, again]
    assert not Rerun().covers(3, Visit("N", one))


async def test_of_names_that_differ_in_case_alone_the_one_that_is_written_counts() -> None:
    several = workflow(
        *(f'{name}@{{op: Custom, prompt: "of {name}"}}' for name in ("Ab", "aB")), "PROBLEM --> Ab --> aB --> RETURN"
    )
    for name in ("Ab", "aB"):
        result, _ = await alone(several, only=name, set_values={f"{name}.input": "x"})
        assert result.outputs == {name: f"of {name} of x"}
    with pytest.raises(UsageFailure) as failure:
        await alone(several, only="AB")
    assert str(failure.value) == "The workflow has no node AB. Did you mean Ab?"
