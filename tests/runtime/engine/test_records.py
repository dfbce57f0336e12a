"""Records, unions, Pass and Select in runs: every value is of its port's type, whatever models answer."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from tests.runtime.engine.fakes import FakeEndpoint, flowchart, workflow

import merrow_runtime
from merrow_runtime import RunOptions, RunResult, UsageFailure, Workflow, check_workflow
from merrow_runtime.models.offline_answers import answer_to
from merrow_runtime.operators.formats.shapes import is_of, shape_of
from merrow_runtime.program.definitions import meanings_of
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.values import output_at

FRONT = (
    "{types: {Place: {city: Text, rank: Number}, Verdict: {advice: Text, good: Bool, place: Place, kind: Text}, Query: Text, "
    "Step: Place | Query | Answer}, prompts: {judge: judge, think: think, a: a}}"
)
JUDGE = 'JUDGE["Custom<br/>(role: judge, returns: Verdict)"]'
THINK = 'THINK["Custom<br/>(role: think, returns: Step)"]'
A = 'A["Custom<br/>(role: a)"]'
VERDICT = {"advice": "shorter", "good": True, "place": {"city": "Rome", "rank": 3}, "kind": "x"}


def flow(*lines: str) -> Workflow:
    return workflow(*lines, front=FRONT)


async def ran(of: Workflow, says: dict[str, Any], **inputs: Any) -> tuple[RunResult, FakeEndpoint]:
    """A run in which the node with a prompt answers with what ``says`` has for that."""

    def answer(request: ModelRequest) -> str:
        said = says[request.messages[0].content.split("\n")[0]]
        return said if isinstance(said, str) else json.dumps(said)

    endpoint = FakeEndpoint(answer)
    options = RunOptions(fresh=True)
    given_inputs = inputs or {"problem": "p"}
    return await merrow_runtime.run(of, given_inputs, endpoint=endpoint, store=MemoryStore(), options=options), endpoint


async def test_a_field_is_brought_as_an_output() -> None:
    of = flow(
        JUDGE, A, "PROBLEM --> JUDGE", "JUDGE -->|place.city:input| A", "JUDGE -->|advice:input| A", "A --> RETURN"
    )
    result, endpoint = await ran(of, {"judge": VERDICT, "a": "done"})
    assert result.outputs == {"RETURN": "done"}
    user = endpoint.seen[-1].messages[-1].content
    assert user.index("Rome") < user.index("shorter")
    references = (result.nodes["A"].inputs or {})["input"]
    assert [one["output"] for one in references] == ["response.place.city", "response.advice"]


CASES = ("D{which?}:::DecisionOp", THINK, A, "PROBLEM --> THINK --> D", "D -->|Place:city:input| A", "A --> RETURN")


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ({"kind": "Place", "value": {"city": "Rome", "rank": 1}}, "done"),
        ({"kind": "query", "value": "what?"}, "what?"),
        ({"kind": "Answer", "value": "42"}, "42"),
    ],
)
async def test_a_case_carries_the_value_of_its_kind(said: dict[str, Any], outcome: str) -> None:
    of = flow(*CASES, "D -->|Query| RETURN", "D -->|ANSWER| RETURN")
    result, endpoint = await ran(of, {"think": {"response": said}, "a": "done"})
    assert result.outputs == {"RETURN": outcome}
    assert (len(endpoint.seen) == 2) is (outcome == "done")


async def test_else_carries_the_value_with_its_kind() -> None:
    said = {"kind": "Answer", "value": "42"}
    result, _ = await ran(flow(*CASES, "D -->|else| RETURN"), {"think": {"response": said}})
    assert result.outputs == {"RETURN": said}


async def test_an_answer_of_none_of_the_kinds_fails_the_node_in_a_sentence() -> None:
    of = flow(*CASES, "D -->|else| RETURN")
    result, endpoint = await ran(of, {"think": {"response": {"kind": "Town", "value": "x"}}})
    assert result.status == "failed"
    assert "Node THINK" in str(result.error)
    assert "it must be one of `Place`, `Query`, `Answer`" in str(result.error)
    assert len(endpoint.seen) == 3


def test_a_dry_run_shows_each_case_with_its_kind() -> None:
    of = flow(*CASES, "D -->|Query:input| A", "D -->|Answer:input| A")
    plan = merrow_runtime.dry_run(of, endpoint=FakeEndpoint())
    assert (plan.calls.least, plan.calls.most) == (2, 2)
    single = flow(*CASES, "D -->|Query| RETURN", "D -->|Answer| RETURN")
    plan = merrow_runtime.dry_run(single, endpoint=FakeEndpoint())
    assert (plan.calls.least, plan.calls.most) == (1, 2)
    [question] = next(node for node in plan.nodes if node.node == "A").questions
    assert question.messages[-1].content == "<Text from THINK.city>"
    other = flow(*CASES[:-2], "D -->|Query:input| A", "A --> RETURN", "D -->|else| RETURN")
    plan = merrow_runtime.dry_run(other, endpoint=FakeEndpoint())
    [question] = next(node for node in plan.nodes if node.node == "A").questions
    assert question.messages[-1].content == "<Query from THINK>"


PASS = (
    'P["Pass<br/>(returns: Place)"]',
    'S["Select<br/>(by: rank)"]',
    "JUDGE -->|advice:city| P",
    "JUDGE -->|place.rank:rank| P",
)


async def test_pass_and_select_call_nothing() -> None:
    of = flow(JUDGE, "PROBLEM --> JUDGE", *PASS, "P --> S", "JUDGE -->|place:items| S", "S -->|best.city:| RETURN")
    plan = merrow_runtime.dry_run(of, endpoint=FakeEndpoint())
    assert (plan.calls.least, plan.calls.most) == (1, 1)
    result, endpoint = await ran(of, {"judge": VERDICT})
    assert result.outputs == {"RETURN": "shorter"}
    assert len(endpoint.seen) == 1
    assert (result.nodes["S"].outputs or {})["score"] == 3


async def test_an_empty_list_fails_a_select_in_a_sentence() -> None:
    of = flow(
        "A[\"Custom<br/>(role: a, returns: 'list[Number]')\"]",
        'S["Select<br/>"]',
        "PROBLEM --> A --> S",
        "S -->|best:| RETURN",
    )
    result, _ = await ran(of, {"a": {"response": []}})
    assert result.error == "Node S: there is nothing to select from: its list is empty."


def with_input(default: str = "") -> Workflow:
    front = FRONT.replace("{types", "{inputs: [PLACE], types", 1)
    lines = ["PLACE([Place]):::Interface", f"PLACE@{{ type: Place{default} }}", "PLACE -->|city:| RETURN"]
    text = flowchart(*lines, front=front).replace("    PROBLEM([Problem]):::Interface\n", "")
    return check_workflow(text)


@pytest.mark.parametrize("place", [{"city": "Bonn", "rank": 2}, '{"city": "Bonn", "rank": "2"}'])
async def test_an_input_may_be_a_record(place: Any) -> None:
    result, _ = await ran(with_input(), {}, place=place)
    assert result.outputs == {"RETURN": "Bonn"}


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ({"city": "Bonn"}, "The input PLACE must be of type Place: Field `rank` is missing."),
        (
            {"city": "Bonn", "rank": 1, "x": 1},
            "The input PLACE must be of type Place: Field `x` is not a field of Place.",
        ),
        ({"city": "Bonn", "rank": "high"}, "Field `rank` is wrong: `high` is not a number."),
        ("Bonn", "type Place: `Bonn` is not a Place, which is a JSON object with `city`, `rank`."),
        ([], "`[]` is not a Place,"),
    ],
)
async def test_an_input_that_is_no_such_record_is_refused_before_the_run(place: Any, said: str) -> None:
    with pytest.raises(UsageFailure) as refused:
        await ran(with_input(), {}, place=place)
    assert said in str(refused.value)
    with pytest.raises(UsageFailure, match="PLACE"):
        await ran(with_input("\n default:\n  city: Bonn\n"), {}, PLACE=place)


async def test_defaults_are_checked_too() -> None:
    good = with_input("\n default:\n  city: Bonn\n  rank: 1\n")
    result = await merrow_runtime.run(good, {}, endpoint=FakeEndpoint(), store=MemoryStore())
    assert result.outputs == {"RETURN": "Bonn"}
    with pytest.raises(
        UsageFailure, match=r"its `default:` must be of type Place, but its field rank is missing.*MW305"
    ):
        await merrow_runtime.run(
            with_input("\n default:\n  city: Bonn\n"), {}, endpoint=FakeEndpoint(), store=MemoryStore()
        )


def with_default(*lines: str) -> Workflow:
    written = "".join(f"  {line}\n" for line in lines)
    node = f"N@{{\n op: Custom\n role: a\n returns: Place\n on_error: default\n default:\n{written} }}"
    return flow(node, "PROBLEM --> N", "N --> RETURN")


@pytest.mark.parametrize("lines", [("city: Bonn", "rank: 1"), ("response:", "  city: Bonn", "  rank: 1")])
async def test_a_node_that_failed_gives_its_default_record(lines: tuple[str, ...]) -> None:
    result, _ = await ran(with_default(*lines), {"a": "nothing of the kind"})
    assert result.outputs == {"RETURN": {"city": "Bonn", "rank": 1}}


async def test_a_default_may_have_a_field_with_the_name_of_the_output() -> None:
    front = "{types: {Reply: {response: Text}}, prompts: {a: a}}"
    node = "N@{\n op: Custom\n role: a\n returns: Reply\n on_error: default\n default:\n  response: spare\n }"
    of = workflow(node, "PROBLEM --> N", "N --> RETURN", front=front)
    result, _ = await ran(of, {"a": "nothing of the kind"})
    assert result.outputs == {"RETURN": {"response": "spare"}}


async def test_a_recorded_answer_that_no_longer_fits_is_refused(tmp_path: Path) -> None:
    of, file = flow(JUDGE, "PROBLEM --> JUDGE", "JUDGE -->|advice:| RETURN"), tmp_path / "recording.jsonl"
    endpoint = FakeEndpoint(lambda _: json.dumps(VERDICT))
    await merrow_runtime.run(
        of, {"problem": "p"}, endpoint=endpoint, store=MemoryStore(), options=RunOptions(record=file)
    )
    options = RunOptions(replay=file)
    replayed = await merrow_runtime.run(of, {"problem": "p"}, store=MemoryStore(), options=options)
    assert replayed.outputs == {"RETURN": "shorter"}
    file.write_text(file.read_text().replace('\\"good\\": true, ', ""))
    spoilt = await merrow_runtime.run(of, {"problem": "p"}, store=MemoryStore(), options=options)
    assert spoilt.status == "failed"
    assert "can't be used: Field `good` of the answer is missing." in str(spoilt.error)


async def test_a_resumed_run_and_one_from_a_node_have_the_same_fields() -> None:
    of = flow(JUDGE, A, "PROBLEM --> JUDGE", "JUDGE -->|place.city:input| A", "A --> RETURN")
    store = MemoryStore()
    endpoint = FakeEndpoint(lambda request: json.dumps(VERDICT) if "judge" in request.messages[0].content else "done")
    first = await merrow_runtime.run(of, {"problem": "p"}, endpoint=endpoint, store=store)
    only = RunOptions(only="A", from_run=first.run)
    await merrow_runtime.run(of, {}, endpoint=endpoint, store=store, options=only)
    assert [request.messages[-1].content for request in endpoint.seen[1:]] in (["Rome"], ["Rome", "Rome"])
    again = await merrow_runtime.run(
        of, {"problem": "p"}, endpoint=endpoint, store=store, options=RunOptions(from_node="A", from_run=first.run)
    )
    assert again.outputs == {"RETURN": "done"}


# The property of the language

TYPES = ["Text", "Number", "Bool", "Json", "Route", "list[Number]"]


@st.composite
def workflows(draw: st.DrawFn) -> str:
    """Nodes that give records and unions, each fed by fields and outputs of the nodes before it that fit."""
    declared: dict[str, Any] = {"Route": ["left", "right"]}
    for number in range(draw(st.integers(1, 3))):
        names = st.sampled_from(["a", "b", "kind", "value", "response"])
        fields = st.sampled_from([*TYPES, *(name for name in declared if name.startswith("Rec"))])
        declared[f"Rec{number}"] = draw(st.dictionaries(names, fields, min_size=1, max_size=3))
    records = [name for name in declared if name.startswith("Rec")]
    declared["Either"] = " | ".join([*records, "Route", "Number"])
    lines = ["PROBLEM([Problem]):::Interface", "RETURN([Result]):::Interface", "classDef Interface fill:#eee"]
    edges: list[str] = []
    sources = [("PROBLEM", "", "Problem")]
    for number in range(draw(st.integers(1, 4))):
        name = f"N{number}"
        kind = draw(st.sampled_from(["Custom", "Custom", "Pass", "Select", "Decision"]))
        source, output, type_ = draw(st.sampled_from(sources))
        label = f"|{output}:|" if output else ""
        if kind == "Decision":
            either = [one for one in sources if one[2] == "Either"]
            if not either:
                continue
            source, output, _ = draw(st.sampled_from(either))
            edges.append(f"{source} -->|{output}:| {name}" if output else f"{source} --> {name}")
            lines.append(f"{name}{{which?}}\n    {name}@{{ op: Decision }}")
            for case in [*records, "Route", "Number"]:
                lines.append(f'{name}{case}@{{ op: Custom, prompt: "x", returns: Text }}')
                field = draw(st.sampled_from(["", *(f"{one}:" for one in declared.get(case, ()) if case in records)]))
                edges.append(f"{name} -->|{case}:{field}input| {name}{case}")
                edges.append(f"{name}{case} -->|input| LAST")
            continue
        if kind == "Pass":
            record = draw(st.sampled_from(records))
            fed = {field: [one for one in sources if one[2] == wanted] for field, wanted in declared[record].items()}
            if all(fed.values()):
                lines.append(f"{name}@{{ op: Pass, returns: {record} }}")
                for field, ways in fed.items():
                    giver, of, _ = draw(st.sampled_from(ways))
                    edges.append(f"{giver} -->|{of}:{field}| {name}" if of else f"{giver} -->|{field}| {name}")
                returns = record
            else:
                lines.append(f"{name}@{{ op: Pass }}")
                edges.append(f"{source} -->{label} {name}")
                returns = type_
            gives = [("value" if returns == record else "", returns)]
        elif kind == "Select":
            ways = [one for one in sources if one[2] in ("Number", "list[Number]")]
            if not ways:
                continue
            lines.append(f"{name}@{{ op: Select, keep: {draw(st.integers(1, 3))} }}")
            edges += [
                f"{giver} -->|{of}:items| {name}" if of else f"{giver} -->|items| {name}" for giver, of, _ in ways
            ]
            gives, returns = [("selected", "list[Number]"), ("best", "Number"), ("score", "Number")], "list[Number]"
        else:
            returns = draw(st.sampled_from([*records, "Either", *TYPES]))
            lines.append(f'{name}@{{ op: Custom, prompt: "x", returns: "{returns}" }}')
            edges.append(f"{source} -->{label} {name}")
            gives = [("", returns)]
        sources += [(name, output, one) for output, one in gives]
        own = {"response", "value"}
        sources += (
            [(name, field, one) for field, one in declared.get(returns, {}).items() if field not in own]
            if (returns in records)
            else []
        )
        edges.append(f"{name} -->|input| LAST")
    lines.append('LAST@{ op: Custom, prompt: "x" }')
    front = json.dumps({"workflow": {"types": declared}})
    edges = [*dict.fromkeys(edges), "PROBLEM -->|input| LAST", "LAST --> RETURN"]
    return f"---\n{front}\n---\nflowchart TD\n" + "".join(f"    {line}\n" for line in [*lines, *edges])


def instance(schema: Any, luck: random.Random) -> Any:
    """A value of a schema, or sometimes one that isn't."""
    if luck.random() < 0.04:
        return luck.choice([None, "odd", {"kind": "Route"}, [[]], {}])
    if "anyOf" in schema:
        return instance(luck.choice(schema["anyOf"]), luck)
    if "enum" in schema:
        return luck.choice(schema["enum"])
    if schema.get("type") == "object":
        return {name: instance(one, luck) for name, one in schema["properties"].items()}
    if schema.get("type") == "array":
        return [instance(schema["items"], luck) for _ in range(luck.randrange(3))]
    plain = {"string": "text", "boolean": luck.random() < 0.5, "number": luck.randrange(9)}
    return plain.get(schema.get("type"), {"any": [1]})


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(workflows(), st.integers(0, 999))
def test_no_value_is_missing_or_ill_typed(text: str, seed: int) -> None:
    of, luck = check_workflow(text), random.Random(seed)

    def answer(request: ModelRequest) -> str:
        schema = request.schema.schema if request.schema is not None else None
        return (
            "text"
            if schema is None and "JSON" not in request.messages[0].content
            else json.dumps(instance(schema or {}, luck))
        )

    merrow_runtime.dry_run(of, endpoint=FakeEndpoint())
    run = merrow_runtime.run(
        of, {"problem": "p"}, endpoint=FakeEndpoint(answer), store=MemoryStore(), options=RunOptions(fresh=True)
    )
    result = asyncio.run(run)
    graph = of.graph
    if result.status != "finished":
        assert "no usable answer" in str(result.error) or "nothing to select from" in str(result.error), result.error
    for name, record in result.nodes.items():
        ports = {port.name: port for port in graph.by_id[name].input_ports}
        for port, references in (record.inputs or {}).items():
            spec = ports[port]
            for reference in references:
                outputs = result.nodes[reference["node"]].outputs
                assert outputs is not None
                value, type_ = output_at(outputs, reference["output"]), reference["type"]
                assert is_of(value, shape_of(type_, *meanings_of([type_], graph.types))), (name, port, value)
                wanted = spec.item if spec.many else spec.type
                assert graph.types.fits(type_, wanted) or len(wanted) == 1 or spec.many
    event(f"{result.status}, {len(graph.decisions)} Decisions")


def test_the_offline_model_answers_with_records_and_unions() -> None:
    of = flow(*CASES, JUDGE, "PROBLEM --> JUDGE", "JUDGE -->|advice:input| A", "D -->|else| RETURN")
    result = asyncio.run(ran_offline(of))
    assert result.status == "finished", result.error


async def ran_offline(of: Workflow) -> RunResult:
    return await merrow_runtime.run(of, {"problem": "p"}, endpoint=FakeEndpoint(answer_to), store=MemoryStore())
