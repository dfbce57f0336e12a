"""Calls at run time: a called file runs in a frame of its own, in the same run."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import sys
from collections.abc import Mapping
from multiprocessing.synchronize import Event
from pathlib import Path
from random import Random

import pytest
from tests.patience import PATIENCE
from tests.runtime.engine.fakes import Answer, FakeEndpoint, flowchart, last_line

import merrow_runtime
from merrow_runtime import RunOptions, RunResult
from merrow_runtime.errors import EndpointFailure, UsageFailure
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore

THINK = flowchart('STEP@{op: Custom, prompt: "think"}', "PROBLEM --> STEP --> RETURN")
CALLS = flowchart('SUMMARISE@{op: Call, workflow: "./sub/f.mmd"}', "PROBLEM --> SUMMARISE --> RETURN")
COUNTS = flowchart(
    'STEP@{op: Custom, prompt: "count"}', 'R["Review<br/>"]:::ReviewOp', "D{good?}:::DecisionOp",
    'AGAIN@{op: Call, workflow: "./f.mmd"DEPTH}', "PROBLEM --> STEP -->|solution| R", "PROBLEM -->|problem| R",
    "R -->|result:when| D", "STEP -->|value| D", "D -->|yes| RETURN", "D -->|no| AGAIN", "PROBLEM --> AGAIN --> RETURN",
    "RETURN@{type: Text}",
)  # fmt: skip
"""Calls itself until its review is content."""


def write(folder: Path, files: Mapping[str, str]) -> Path:
    (folder / "merrow.toml").touch()
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder / "main.mmd"


def run(path: Path, answer: Answer = last_line, **options: object) -> tuple[RunResult, FakeEndpoint]:
    endpoint = FakeEndpoint(answer)
    store = options.pop("store", None) or MemoryStore()

    async def work() -> RunResult:
        begun = merrow_runtime.start(
            path,
            {"problem": "what?"},
            endpoint=endpoint,
            store=store,
            options=RunOptions(**options),  # type: ignore[arg-type]
        )
        return await begun.result()

    return asyncio.run(work()), endpoint


def reviewing(verdicts: list[bool]) -> Answer:
    """Answers each review with the next verdict."""
    left = iter(verdicts)

    def answer(request: ModelRequest) -> str:
        if request.schema is None:
            return "an answer"
        return json.dumps({"feedback": "f", "accepted": next(left)})

    return answer


def test_a_called_file_runs_in_a_frame_of_its_own(tmp_path: Path) -> None:
    path = write(tmp_path, {"main.mmd": CALLS, "sub/f.mmd": THINK})
    result, endpoint = run(path)
    assert result.status == "finished", result.error
    assert result.outputs == {"RETURN": "think <- what?"}
    assert set(result.nodes) == {
        "PROBLEM", "SUMMARISE", "RETURN", "SUMMARISE/PROBLEM", "SUMMARISE/STEP", "SUMMARISE/RETURN",
    }  # fmt: skip
    assert result.usage.calls == len(endpoint.seen) == 1
    assert result.nodes["SUMMARISE"].outputs == {"RETURN": "think <- what?"}
    assert [source.endpoint for source in result.nodes["SUMMARISE"].sources] == [endpoint.origin]


def test_its_memory_begins_empty_and_its_prompts_are_its_own(tmp_path: Path) -> None:
    inner = flowchart(
        'A@{op: Custom, role: r}', 'B@{op: Custom, prompt: "b", memory: all}', "PROBLEM --> A --> B --> RETURN",
        front="{prompts: ./p.yaml}",
    )  # fmt: skip
    outer = flowchart(
        'FIRST@{op: Custom, prompt: "first"}', 'C@{op: Call, workflow: "sub/f.mmd"}', "PROBLEM --> FIRST -->|PROBLEM| C",
        "C --> RETURN", front="{types: {}, memory: all}",
    ).replace("FIRST -->|PROBLEM| C", "FIRST --> LAST").replace(
        "C --> RETURN", 'LAST@{op: Custom, prompt: "last"}\n    PROBLEM --> C --> LAST --> RETURN'
    )  # fmt: skip
    path = write(tmp_path, {"main.mmd": outer, "sub/f.mmd": inner, "sub/p.yaml": "{r: from the file}"})
    result, endpoint = run(path, lambda request: f"said {request.messages[0].content[:5]}")
    assert result.status == "finished", result.error
    prompts = endpoint.prompts
    assert any("from the file" in prompt for prompt in prompts)
    (b,) = [request for request in endpoint.seen if request.messages[0].content.startswith("b")]
    assert "first" not in "".join(message.content for message in b.messages)
    assert "what?" in "".join(message.content for message in b.messages)


def test_a_failure_inside_is_located(tmp_path: Path) -> None:
    path = write(tmp_path, {"main.mmd": CALLS, "sub/f.mmd": THINK})
    result, _ = run(path, lambda _: EndpointFailure("no luck"))
    assert result.status == "failed"
    assert result.failure is not None
    assert (result.failure.node, result.failure.path) == ("STEP", "SUMMARISE")
    assert result.nodes["SUMMARISE"].status == "failed"


def test_on_error_of_the_call_decides(tmp_path: Path) -> None:
    skips = CALLS.replace('.mmd"}', '.mmd", on_error: default, default: "instead"}')
    path = write(tmp_path, {"main.mmd": skips, "sub/f.mmd": THINK})
    result, _ = run(path, lambda _: EndpointFailure("no luck"))
    assert (result.status, result.outputs) == ("finished", {"RETURN": "instead"})
    assert result.nodes["SUMMARISE/STEP"].status == "failed"


@pytest.mark.parametrize(
    ("turns", "depth"), [(0, ""), (3, ""), (4, ""), (5, ", depth: 6"), (1, ", depth: 1"), (2, ", depth: 1")]
)
def test_a_file_that_calls_itself_ends_at_its_depth(tmp_path: Path, turns: int, depth: str) -> None:
    path = write(tmp_path, {"main.mmd": CALLS.replace("sub/f", "f"), "f.mmd": COUNTS.replace("DEPTH", depth)})
    result, endpoint = run(path, reviewing([False] * turns + [True]), fresh=True)
    most = int(depth[-1]) if depth else 3
    assert (result.status == "finished") == (turns <= most), result.error
    assert len(endpoint.seen) == 2 * (min(turns, most) + 1)
    if turns > most:
        assert result.failure is not None
        assert (result.failure.node, result.failure.path) == ("AGAIN", "/".join(["SUMMARISE", *["AGAIN"] * most]))
        assert "`depth`" in str(result.error)


def test_recursion_through_three_files(tmp_path: Path) -> None:
    def to(name: str, text: str = CALLS) -> str:
        return text.replace("sub/f", name).replace("f.mmd", f"{name}.mmd") + "    RETURN@{type: Text}\n"

    counts = COUNTS.replace("DEPTH", "").replace("f.mmd", "g.mmd")
    path = write(tmp_path, {"main.mmd": counts, "g.mmd": to("h"), "h.mmd": to("main")})
    result, endpoint = run(path, reviewing([False, False, True]), fresh=True)
    assert result.status == "finished", result.error
    assert len(endpoint.seen) == 6
    assert "AGAIN/SUMMARISE/SUMMARISE/AGAIN/SUMMARISE/SUMMARISE/STEP" in result.nodes


def test_definitions_in_the_journal_are_those_of_the_file(tmp_path: Path) -> None:
    inner = THINK.replace("STEP", "FIRST")
    outer = flowchart(
        'FIRST@{op: Custom, prompt: "outside"}', 'C@{op: Call, workflow: "f.mmd"}', 'L@{op: Custom, prompt: "last"}',
        "PROBLEM --> FIRST --> L", "PROBLEM --> C --> L --> RETURN",
    )  # fmt: skip
    path = write(tmp_path, {"main.mmd": outer, "f.mmd": inner})
    store = Store.open(tmp_path / "journal.sqlite")
    result, _ = run(path, store=store)
    records = {node.visit.name: node for node in store.nodes(result.run)}
    store.close()
    for name, prompt in {"FIRST": "outside", "C/FIRST": "think"}.items():
        definition = records[name].definition
        assert definition is not None
        assert definition["prompt"] == prompt


def test_from_takes_over_what_did_not_change(tmp_path: Path) -> None:
    two = flowchart(
        'A@{op: Custom, prompt: "a"}', 'B@{op: Custom, prompt: "b"}', "PROBLEM --> A --> B --> RETURN",
    )  # fmt: skip
    path = write(tmp_path, {"main.mmd": CALLS, "sub/f.mmd": two})
    store = MemoryStore()
    first, _ = run(path, store=store)
    again, endpoint = run(path, store=store, from_run=first.run)
    assert (again.nodes["SUMMARISE"].status, endpoint.seen) == ("reused", [])
    write(tmp_path, {"sub/f.mmd": two.replace('"b"', '"other"')})
    changed, endpoint = run(path, store=store, from_run=first.run)
    assert [prompt.split("\n")[0] for prompt in endpoint.prompts] == ["other"]
    assert changed.nodes["SUMMARISE/A"].status == "reused"
    again, endpoint = run(path, store=store, from_run=changed.run, from_node="SUMMARISE")
    assert len(endpoint.seen) == 2
    assert again.status == "finished"


def test_a_resume_makes_no_call_again_and_runs_the_file_of_then(tmp_path: Path) -> None:
    two = flowchart(
        'A@{op: Custom, prompt: "a"}', 'B@{op: Custom, prompt: "b"}', "PROBLEM --> A --> B --> RETURN",
    )  # fmt: skip
    path = write(tmp_path, {"main.mmd": CALLS, "sub/f.mmd": two})
    store = MemoryStore()

    def fails(request: ModelRequest) -> str | Exception:
        return EndpointFailure("gone") if request.messages[0].content.startswith("b") else "from a"

    first, _ = run(path, fails, store=store)
    assert first.status == "failed"
    write(tmp_path, {"sub/f.mmd": "flowchart TD\n", "main.mmd": "nothing"})
    endpoint = FakeEndpoint(last_line)

    async def resumed() -> RunResult:
        return await merrow_runtime.resume(first.run, endpoint=endpoint, store=store).result()

    result = asyncio.run(resumed())
    assert result.outputs == {"RETURN": "b <- from a"}
    assert len(endpoint.seen) == 1


def test_a_recording_is_replayed(tmp_path: Path) -> None:
    path = write(tmp_path, {"main.mmd": CALLS.replace("sub/f", "f"), "f.mmd": COUNTS.replace("DEPTH", "")})
    file = tmp_path / "recording.jsonl"
    first, _ = run(path, reviewing([False, True]), record=file, fresh=True)
    again, endpoint = run(path, replay=file)
    assert again.outputs == first.outputs
    assert endpoint.seen == []


def test_a_budget_is_that_of_the_run(tmp_path: Path) -> None:
    path = write(tmp_path, {"main.mmd": CALLS.replace("sub/f", "f"), "f.mmd": COUNTS.replace("DEPTH", ", depth: 50")})
    result, _ = run(path, reviewing([False] * 60), budget_tokens=9000, fresh=True)
    assert result.failure is not None
    assert result.failure.code == "budget"


def test_calls_in_a_map_and_a_loop_have_paths_of_their_own(tmp_path: Path) -> None:
    outer = flowchart(
        'SPLIT@{op: Custom, prompt: "split", returns: "list[Text]"}', "PROBLEM --> SPLIT",
        'subgraph EACH["Map (parallel: 2)"]', '    C@{op: Call, workflow: "f.mmd"}', "end", "SPLIT -->|each| C",
        "C --> JOIN", 'JOIN@{op: Custom, prompt: "join"}', "JOIN --> RETURN",
    )  # fmt: skip
    inner = "---\nworkflow: {inputs: [PART]}\n---\n" + THINK.replace("PROBLEM", "PART")
    path = write(tmp_path, {"main.mmd": outer, "f.mmd": inner})

    def answer(request: ModelRequest) -> str:
        return json.dumps({"response": ["one", "two"]}) if request.schema is not None else last_line(request)

    result, endpoint = run(path, answer)
    assert result.status == "finished", result.error
    # Of what is in a Map the last visit is there by its id as well, but not of what is in a file that is called there.
    inside = {f"EACH[{n}]/C{more}" for n in (1, 2) for more in ("", "/PART", "/STEP", "/RETURN")}
    assert set(result.nodes) == {"PROBLEM", "SPLIT", "C", "JOIN", "RETURN"} | inside
    assert "one" in endpoint.seen[-1].messages[-1].content


@pytest.mark.parametrize(("said", "depth"), [("", 3), (", depth: 1", 1), (", depth: 2", 2), (", depth: 5", 5)])
def test_a_dry_run_has_the_bounds_of_all_calls(tmp_path: Path, said: str, depth: int) -> None:
    """A file that calls itself is shown in itself once."""
    path = write(tmp_path, {"main.mmd": CALLS.replace("sub/f", "f"), "f.mmd": COUNTS.replace("DEPTH", said)})
    plan = merrow_runtime.dry_run(path, endpoint=FakeEndpoint())
    assert (plan.calls.least, plan.calls.most) == (2, 2 * (depth + 1))
    inside = ["PROBLEM", "STEP", "R", "D", "AGAIN", "RETURN"]
    shown = plan.to_json()
    again = [f"AGAIN/{name}" for name in inside]
    assert shown["order"] == [
        "PROBLEM", "SUMMARISE", *(f"SUMMARISE/{name}" for name in [*inside[:5], *again, inside[5]]), "RETURN",
    ]  # fmt: skip
    calls = {
        node["node"]: (node["calls"]["least"], node["calls"]["most"]) for node in shown["nodes"] if "calls" in node
    }
    assert calls == {
        "SUMMARISE": (2, 2 * (depth + 1)),
        "SUMMARISE/AGAIN": (2, 2 * depth),
        "SUMMARISE/AGAIN/AGAIN": (2, 2 * (depth - 1)) if depth > 1 else (0, 0),
    }


def test_a_called_file_with_errors_is_refused_before_anything_is_called(tmp_path: Path) -> None:
    path = write(tmp_path, {"main.mmd": CALLS, "sub/f.mmd": THINK.replace("op: Custom", "op: Custm")})
    with pytest.raises(UsageFailure, match="MW227"):
        run(path)


LENGTH = 12
CHAIN = flowchart(
    *(f'N{n}@{{op: Custom, prompt: "N{n}"}}' for n in range(LENGTH)),
    " --> ".join(["PROBLEM", *(f"N{n}" for n in range(LENGTH)), "RETURN"]),
)


def _work(path: Path, journal: Path, calls: int, reached: Event) -> None:
    """Run the workflow, and say when so many calls were made."""
    store = Store.open(journal)
    seen = 0

    def answer(request: ModelRequest) -> str:
        nonlocal seen
        seen += 1
        if seen == calls:
            reached.set()
        return f"{request.messages[0].content.split()[0]}!"

    run(path, answer, store=store)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked here")
def test_a_run_that_is_killed_inside_a_called_file_makes_no_call_again(tmp_path: Path) -> None:
    path = write(tmp_path, {"main.mmd": CALLS, "sub/f.mmd": CHAIN})
    forks, moments = multiprocessing.get_context("fork"), Random(1)
    for calls in (2, LENGTH // 2, LENGTH - 1):
        journal, reached = tmp_path / f"{calls}.sqlite", forks.Event()
        process = forks.Process(target=_work, args=(path, journal, calls, reached))
        process.start()
        assert reached.wait(PATIENCE)
        process.join(moments.uniform(0.0, 0.003))
        process.kill()
        process.join()
        store, endpoint = (
            Store.open(journal),
            FakeEndpoint(lambda request: f"{request.messages[0].content.split()[0]}!"),
        )
        (record,) = store.runs()
        known = {call.key.node for call in store.calls(record.id)}
        assert len(known) >= calls - 1

        async def resumed(name: str = record.id, store: Store = store, endpoint: FakeEndpoint = endpoint) -> RunResult:
            return await merrow_runtime.resume(name, endpoint=endpoint, store=store).result()

        result = asyncio.run(resumed())
        store.close()
        assert result.outputs == {"RETURN": f"N{LENGTH - 1}!"}
        asked = {prompt.split()[0] for prompt in endpoint.prompts}
        assert asked.isdisjoint(known)
        assert asked | known == {f"N{n}" for n in range(LENGTH)}


def test_a_call_remembers_nothing(tmp_path: Path) -> None:
    inner = THINK + "    PROBLEM@{type: Text}\n"
    outer = flowchart(
        'A@{op: Custom, prompt: "a"}', 'B@{op: Custom, prompt: "b"}', 'C@{op: Call, workflow: "f.mmd"}',
        "PROBLEM --> A --> B --> C --> RETURN", front="{memory: all}",
    )  # fmt: skip
    path = write(tmp_path, {"main.mmd": outer, "f.mmd": inner})
    result, _ = run(path)
    assert result.status == "finished", result.error
    assert result.nodes["B"].memory
    assert not result.nodes["C"].memory
