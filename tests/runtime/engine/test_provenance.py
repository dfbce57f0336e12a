"""Who answered: results of another endpoint, of the embedded model or of a recording are never passed off as a run's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.engine.fakes import FakeEndpoint, workflow

import merrow_runtime
from merrow_runtime import RunOptions
from merrow_runtime.errors import EndpointFailure
from merrow_runtime.models.offline import OfflineEndpoint
from merrow_runtime.provenance import OFFLINE_ORIGIN, REPLAY_ORIGIN, ForeignResults, Provenance, Reuse, answered_by
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore

NAMES = ("A", "B", "C")
CHAIN = (*(f'{name}@{{op: Custom, prompt: "{name}"}}' for name in NAMES), "PROBLEM --> A --> B --> C --> RETURN")
OFFLINE = Provenance(OFFLINE_ORIGIN, "merrow-offline (not a real model)")


def real(origin: str = "https://real.test", fails_at: str = "") -> FakeEndpoint:
    """An endpoint whose model names itself, and which does not answer one of the nodes."""

    def answer(request: ModelRequest) -> ModelReply | Exception:
        node = request.messages[0].content
        return EndpointFailure("out of order") if node == fails_at else ModelReply(f"{node} of {origin}", model="m-1")

    return FakeEndpoint(answer, origin)


def asked(endpoint: FakeEndpoint) -> list[str]:
    return [request.messages[0].content for request in endpoint.seen]


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    store = MemoryStore()
    yield store
    store.close()


async def offline_run(store: Store) -> str:
    result = await merrow_runtime.run(workflow(*CHAIN), {"problem": "x"}, endpoint=OfflineEndpoint(), store=store)
    assert result.status == "finished", result.error
    return result.run


async def test_a_run_tells_who_answered_it_node_by_node_and_call_by_call(store: MemoryStore) -> None:
    run = await offline_run(store)
    assert store.run(run).sources == (OFFLINE,)
    assert {node.node: node.sources for node in store.nodes(run)} == {
        "PROBLEM": (), "A": (OFFLINE,), "B": (OFFLINE,), "C": (OFFLINE,), "RETURN": (),
    }  # fmt: skip
    assert {call.source for call in store.calls(run)} == {OFFLINE}


async def test_results_of_the_embedded_model_are_not_reused_for_a_real_one_unasked(store: MemoryStore) -> None:
    first = await offline_run(store)
    endpoint = real()
    options = RunOptions(from_run=first, from_node="C")
    with pytest.raises(ForeignResults) as refused:
        merrow_runtime.start(workflow(*CHAIN), endpoint=endpoint, store=store, options=options)
    assert refused.value.nodes == ("A", "B")
    assert str(refused.value) == (
        f"In run {first}, A and B were answered by the embedded offline model, but https://real.test answers now."
        " Choose --reuse same to run them again, or --reuse any to keep their results."
    )
    assert endpoint.seen == []
    assert len(store.runs()) == 1, "a run that is refused leaves nothing"

    run = merrow_runtime.start(workflow(*CHAIN), endpoint=endpoint, store=store, options=replace(options, reuse="same"))
    again = await run.result()
    notices = [event.data["notices"] async for event in run.events() if event.event == "run_started"]
    assert "They run again." in notices[0][0]
    assert asked(endpoint) == ["A", "B", "C"]
    assert again.sources == (Provenance("https://real.test", "m-1"),)

    endpoint = real()
    kept = await merrow_runtime.run(
        workflow(*CHAIN), endpoint=endpoint, store=store, options=replace(options, reuse="any")
    )
    assert asked(endpoint) == ["C"]
    assert kept.sources == (OFFLINE, Provenance("https://real.test", "m-1"))
    assert kept.nodes["A"].sources == (OFFLINE,)
    # What was reused is still the embedded model's in the third run.
    with pytest.raises(ForeignResults) as refused:
        merrow_runtime.start(
            workflow(*CHAIN), endpoint=endpoint, store=store, options=RunOptions(from_run=kept.run, from_node="C")
        )
    assert refused.value.nodes == ("A", "B")


async def test_nothing_is_asked_where_nothing_would_be_reused(store: MemoryStore) -> None:
    first = await offline_run(store)
    for changes in (
        {"from_node": "A"},
        {"from_node": "C", "model": "another"},  # another model makes other keys
    ):
        endpoint = real()
        options = RunOptions(from_run=first, **changes)  # type: ignore[arg-type]
        await merrow_runtime.run(workflow(*CHAIN), endpoint=endpoint, store=store, options=options)
        assert asked(endpoint) == ["A", "B", "C"]
    endpoint = real()
    result = await merrow_runtime.run(workflow(*CHAIN), {"problem": "x"}, endpoint=endpoint, store=store)
    options = RunOptions(from_run=result.run, from_node="C")
    await merrow_runtime.run(workflow(*CHAIN), endpoint=endpoint, store=store, options=options)
    # A, B and C of the first of the two come from the cache, and an endpoint's own results are reused unasked.
    assert asked(endpoint) == ["C"]


async def test_a_node_that_asked_nothing_is_reused_whoever_answers(store: MemoryStore) -> None:
    lines = (*CHAIN[:2], "V[ScEnsemble]:::ScEnsembleOp", "PROBLEM --> A & B --> V --> RETURN")
    same = FakeEndpoint(lambda _: "equal", "https://one.test")
    first = await merrow_runtime.run(workflow(*lines), {"problem": "x"}, endpoint=same, store=store)
    assert first.nodes["V"].why_no_call == "All 2 candidates are equal."
    other = FakeEndpoint(lambda _: "equal", "https://two.test")
    options = RunOptions(from_run=first.run, reuse="same")
    again = await merrow_runtime.run(workflow(*lines), endpoint=other, store=store, options=options)
    assert {name: node.status for name, node in again.nodes.items() if name in "ABV"} == {
        "A": "finished", "B": "finished", "V": "reused",
    }  # fmt: skip
    assert again.nodes["V"].why_no_call == "All 2 candidates are equal."


async def test_a_resumed_run_asks_before_it_mixes_endpoints(store: MemoryStore) -> None:
    first = await merrow_runtime.run(workflow(*CHAIN), {"problem": "x"}, endpoint=real(fails_at="C"), store=store)
    other = real("https://other.test")
    with pytest.raises(ForeignResults) as refused:
        merrow_runtime.resume(first.run, endpoint=other, store=store)
    assert (refused.value.nodes, refused.value.endpoints) == (("A", "B"), ("https://real.test",))
    assert store.run(first.run).status == "failed", "a resume that is refused leaves the run as it was"
    result = await merrow_runtime.resume(
        first.run, endpoint=other, store=store, options=RunOptions(reuse="same")
    ).result()
    assert asked(other) == ["A", "B", "C"]
    assert result.outputs == {"RETURN": "C of https://other.test"}
    assert result.usage.calls == 5, "what the first endpoint was paid counts"
    assert result.sources == (Provenance("https://other.test", "m-1"),)


async def test_a_resumed_run_may_keep_the_answers_of_another_endpoint(store: MemoryStore) -> None:
    first = await merrow_runtime.run(workflow(*CHAIN), {"problem": "x"}, endpoint=real(fails_at="C"), store=store)
    other = real("https://other.test")
    options = RunOptions(reuse="any")
    result = await merrow_runtime.resume(first.run, endpoint=other, store=store, options=options).result()
    assert asked(other) == ["C"]
    assert result.nodes["A"].sources == (Provenance("https://real.test", "m-1"),)
    assert result.sources == (Provenance("https://real.test", "m-1"), Provenance("https://other.test", "m-1"))


@pytest.mark.parametrize(("reuse", "questions"), [("same", 3), ("any", 1)])
async def test_so_are_the_calls_of_a_node_that_had_not_finished(
    reuse: Reuse, questions: int, store: MemoryStore
) -> None:
    said: list[str | Exception] = ["one", "two", EndpointFailure("out of order")]
    flow = workflow(
        'S@{op: Custom, prompt: "think", samples: 3, temperature: 1}', "PROBLEM --> S --> ALL",
        "ALL@{op: Assemble, how: concat}", "ALL --> RETURN",
    )  # fmt: skip
    before = FakeEndpoint(lambda _: said.pop(0), "https://real.test")
    options = RunOptions(concurrency=1)
    first = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=before, store=store, options=options)
    assert first.status == "failed"
    other = FakeEndpoint(lambda _: "three", "https://other.test")
    with pytest.raises(ForeignResults):
        merrow_runtime.resume(first.run, endpoint=other, store=store)
    options = RunOptions(reuse=reuse)
    result = await merrow_runtime.resume(first.run, endpoint=other, store=store, options=options).result()
    assert len(other.seen) == questions
    assert result.nodes["S"].outputs == {"response": [*["one", "two"][: 3 - questions], *["three"] * questions]}
    assert [one.endpoint for one in result.nodes["S"].sources] == ["https://real.test"] * (reuse == "any") + [
        "https://other.test"
    ]


async def test_a_run_that_kept_results_of_others_is_resumed_without_another_question(store: MemoryStore) -> None:
    first = await offline_run(store)
    options = RunOptions(from_run=first, from_node="C", reuse="any")
    failed = await merrow_runtime.run(workflow(*CHAIN), endpoint=real(fails_at="C"), store=store, options=options)
    endpoint = real()
    result = await merrow_runtime.resume(failed.run, endpoint=endpoint, store=store).result()
    assert (result.status, asked(endpoint)) == ("finished", ["C"])


async def test_answers_of_a_recording_are_a_recordings_and_no_models(store: MemoryStore, tmp_path: Path) -> None:
    recording = tmp_path / "r.jsonl"
    options = RunOptions(record=recording)
    await merrow_runtime.run(workflow(*CHAIN), {"problem": "x"}, endpoint=real(), store=store, options=options)
    options = RunOptions(replay=recording)
    replayed = await merrow_runtime.run(workflow(*CHAIN), {"problem": "x"}, options=options, store=store)
    assert replayed.sources == (Provenance(REPLAY_ORIGIN, "m-1"),)
    assert answered_by(replayed.sources) == "recording"
    assert store.run(replayed.run).snapshot["origin"] == REPLAY_ORIGIN
    options = RunOptions(from_run=replayed.run, from_node="C")
    with pytest.raises(ForeignResults, match="were answered by a recording, but https://real"):
        merrow_runtime.start(workflow(*CHAIN), endpoint=real(), store=store, options=options)


async def test_a_node_that_runs_alone_says_that_its_inputs_are_anothers(store: MemoryStore) -> None:
    first = await offline_run(store)
    options = RunOptions(from_run=first, only="C")
    run = merrow_runtime.start(workflow(*CHAIN), endpoint=real(), store=store, options=options)
    assert (await run.result()).status == "finished"
    (notices,) = [event.data["notices"] async for event in run.events() if event.event == "run_started"]
    assert notices == ["The inputs of C come from B, answered by the embedded offline model."]


async def test_a_node_that_runs_alone_on_inputs_of_its_own_endpoint_says_nothing_of_them(store: MemoryStore) -> None:
    first = await merrow_runtime.run(workflow(*CHAIN), {"problem": "x"}, endpoint=real(), store=store)
    options = RunOptions(from_run=first.run, only="C")
    run = merrow_runtime.start(workflow(*CHAIN), endpoint=real(), store=store, options=options)
    assert (await run.result()).status == "finished"
    [begun] = [event async for event in run.events() if event.event == "run_started"]
    assert not begun.data.get("notices")


async def test_an_answer_from_the_cache_is_of_who_gave_it(store: MemoryStore) -> None:
    for _ in range(2):
        result = await merrow_runtime.run(workflow(*CHAIN), {"problem": "x"}, endpoint=real(), store=store)
    assert {call.origin for call in store.calls(result.run)} == {"cache"}
    assert result.sources == (Provenance("https://real.test", "m-1"),)


async def test_the_embedded_model_that_gives_up_is_named_by_itself(store: MemoryStore) -> None:
    mute = FakeEndpoint(lambda _: ModelReply("", "refusal", model=OFFLINE.model), OFFLINE_ORIGIN)
    flow = workflow(*CHAIN, front="{model: gpt-4o-mini}")
    result = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=mute, store=store)
    assert "the embedded offline model gave no usable answer" in (result.error or "")
    assert "gpt-4o-mini" not in (result.error or "")


@settings(max_examples=6)
@given(
    st.lists(st.sampled_from(["https://one.test", "https://two.test"]), min_size=2, max_size=5),
    st.lists(st.sampled_from([None, "same", "any"]), min_size=5, max_size=5),
    st.sampled_from(NAMES),
)
async def test_no_run_ever_has_a_result_of_another_endpoint_that_nobody_allowed(
    origins: list[str], reuses: list[Reuse | None], start: str
) -> None:
    store = MemoryStore()
    earlier: str | None = None
    for origin, reuse in zip(origins, reuses, strict=False):
        options = RunOptions(
            from_run=earlier, from_node=None if earlier is None else start, reuse=None if earlier is None else reuse
        )
        flow, endpoint = workflow(*CHAIN), real(origin)
        try:
            result = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=store, options=options)
        except ForeignResults:
            assert reuse is None
            assert endpoint.seen == []
            continue
        for name in NAMES:
            node = result.nodes[name]
            # The text says who gave it: no record claims another.
            assert [source.endpoint for source in node.sources] == [str(node.outputs["response"]).split(" of ")[1]]  # type: ignore[index]
            assert reuse == "any" or node.sources[0].endpoint == origin
        earlier = result.run
    store.close()
