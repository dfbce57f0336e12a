"""Whatever a model plans, the run ends in a result or a sentence, and nothing that is finished is paid again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.runtime.engine.fakes import FakeEndpoint
from tests.runtime.planned.planning import ONCE, REFINES, planning, prompts, run
from tests.runtime.planned.test_reading import HOSTILE

import merrow_runtime
from merrow_runtime import RunResult
from merrow_runtime.errors import EndpointFailure
from merrow_runtime.operators.formats.planned import problem_of
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.memory import MemoryStore

_SHAPES = ('["{}"]', '("{}")', '{{"{}"}}')


@st.composite
def sound_plans(draw: st.DrawFn, steps: int = 6, *, distinct: bool = False) -> str:
    """A workflow of steps that wait for earlier ones, perhaps with a part in a Loop, a Map or a way that a Decision chooses.

    Steps are named again each time and said in the same words, so that plans have work in common; or ``distinct`` ones, since
    equal questions that are asked at once have one answer.
    """
    count = draw(st.integers(1, steps))
    names = draw(st.permutations([f"S{number}" for number in range(count)]))
    words = [["look", "think", "write", "check"] if not distinct else [] for _ in range(count)]
    said = [draw(st.sampled_from([*some, f"task {number}"])) for number, some in enumerate(words)]
    lines = [f'    {name}["{words}"]' for name, words in zip(names, said, strict=True)]
    for number in range(count):
        earlier = draw(st.sets(st.integers(0, number - 1), max_size=2)) if number else set()
        lines += [f"    {names[before]} --> {names[number]}" for before in sorted(earlier)]
        if not earlier:
            lines.append(f"    PROBLEM --> {names[number]}")
    extra = draw(st.sampled_from(["", "", "loop", "map", "decision"]))
    if extra == "loop":
        lines += ['    subgraph L["Loop (max: 2)"]', '        X@{op: Custom, prompt: "again"}', "    end"]
        lines += ["    PROBLEM -->|input| X", "    X -->|again:input| X", "    X --> LAST"]
    if extra == "map":
        lines += ["    SPLIT@{op: Custom, prompt: split, returns: 'list[Text]'}", "    PROBLEM --> SPLIT"]
        lines += ['    subgraph M["Map (max: 3)"]', '        X@{op: Custom, prompt: "part"}', "    end"]
        lines += ["    SPLIT -->|each:input| X", "    X --> LAST"]
    if extra == "decision":
        lines += [
            '    X{"which way?"}',
            "    PROBLEM --> X",
            '    X -->|left| Y["to the left"]',
            "    Y --> LAST",
            "    X -->|right| LAST",
        ]
    lines += [f"    {name} --> LAST" for name in names]
    head = "flowchart TD\n    PROBLEM([Problem]):::Interface\n    RETURN([Result]):::Interface\n"
    return head + "\n".join(lines) + '\n    LAST["put together"] --> RETURN\n'


@st.composite
def any_plans(draw: st.DrawFn) -> str:
    """A sound plan, one with lines lost, doubled or broken, a hostile one, or any text."""
    kind = draw(st.sampled_from(["sound", "sound", "damaged", "hostile", "text"]))
    if kind == "hostile":
        return draw(st.sampled_from([text for text, _ in HOSTILE.values()]))
    if kind == "text":
        return draw(st.text(max_size=80))
    lines = draw(sound_plans()).splitlines()
    for _ in range(draw(st.integers(1, 3)) if kind == "damaged" else 0):
        place = draw(st.integers(0, len(lines) - 1))
        lines[place : place + 1] = draw(
            st.sampled_from(
                [[], [lines[place]] * 2, [lines[place][: len(lines[place]) // 2]], [lines[place] + " --> S0"]]
            )
        )
        lines = lines or [""]
    return "\n".join(lines)


def answering(failing: Sequence[str] = ()) -> object:
    """What the nodes of plans say; those whose words are ``failing`` fail."""

    def answer(request: ModelRequest) -> str | Exception:
        asked = request.messages[0].content.split("\n")[0]
        if asked in failing:
            return EndpointFailure("no luck")
        if request.schema is None:
            return f"{asked}!"
        properties = request.schema.schema["properties"]
        if "choice" in str(properties):
            words = next(iter(properties.values())).get("enum", ["left"])
            name = next(iter(properties))
            return f'{{"{name}": "{words[0]}"}}'
        return '{"response": ["one", "two"]}'

    return answer


_SLOW = settings(deadline=None, max_examples=10, suppress_health_check=list(HealthCheck))


@_SLOW
@given(sound_plans())
def test_what_is_drawn_soundly_is_accepted_and_runs_to_its_end(plan: str) -> None:
    assert problem_of(plan) is None
    result, _ = run(ONCE, planning([plan], answering()))  # type: ignore[arg-type]
    assert (result.status, result.outputs) == ("finished", {"RETURN": "put together!"}), result.error


@_SLOW
@given(
    st.lists(any_plans(), min_size=1, max_size=4),
    st.integers(1, 4),
    st.sampled_from([(), ("look",), ("put together",), ("think", "write")]),
    st.booleans(),
)
def test_no_plan_breaks_a_run_and_what_is_finished_is_kept(
    plans: list[str], stop_after: int, failing: tuple[str, ...], refines: bool
) -> None:
    text = REFINES.replace("stop_after: 2", f"stop_after: {stop_after}") if refines else ONCE
    store = MemoryStore()
    result, _ = run(text, planning(plans, answering(failing)), store=store)  # type: ignore[arg-type]
    assert result.status in ("finished", "failed")
    assert result.failure is None or result.failure.code not in ("internal", "run"), result.error
    assert result.error is None or "\n\n" not in result.error
    for node in result.nodes.values():
        if node.visit.node == "WORK" and node.outputs is not None:
            standing = node.outputs["state"]["nodes"]
            assert node.outputs["done"] == all(one["status"] in ("finished", "skipped") for one in standing)
            new = [one for one in result.nodes.values() if one.path.startswith(str(node.visit)) and one.key is not None]
            assert not refines or sum(one.status == "finished" for one in new) <= stop_after
    if result.status == "failed":
        again = FakeEndpoint(planning(plans[-1:], answering()))  # type: ignore[arg-type]

        async def resumed() -> RunResult:
            return await merrow_runtime.resume(result.run, endpoint=again, store=store).result()

        after = asyncio.run(resumed())
        assert after.failure is None or after.failure.code not in ("internal", "run"), after.error
        told = {(call.key.path, call.key.node, call.key.attempt) for call in store.calls(result.run)}
        assert len(told) == len(list(store.calls(result.run)))


@_SLOW
@given(sound_plans(distinct=True), st.integers(1, 4))
def test_a_plan_that_stays_asks_each_node_once_however_often_it_stops(plan: str, stop_after: int) -> None:
    text = REFINES.replace("max: 6", "max: 40").replace("stop_after: 2", f"stop_after: {stop_after}")
    whole, at_once = run(ONCE, planning([plan], answering()), fresh=True)  # type: ignore[arg-type]
    result, endpoint = run(text, planning([plan], answering()), fresh=True)  # type: ignore[arg-type]
    assert result.outputs == whole.outputs
    asked = [one for one in prompts(endpoint) if one != "plan it"]
    assert sorted(asked) == sorted(one for one in prompts(at_once) if one != "plan it")
