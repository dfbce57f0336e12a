"""Texts that no database, no wire and no JSON takes as they are: a run ends well all the same."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.patience import PATIENCE
from tests.runtime.engine.fakes import FakeEndpoint, flowchart, workflow
from tests.runtime.openai_server import OpenAIServer, Reply

import merrow_runtime
from merrow_runtime import RunOptions
from merrow_runtime.errors import UsageFailure
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore

TWO = workflow(
    'A@{ op: Custom, prompt: "First" }',
    'B@{ op: Custom, prompt: "Second" }',
    "PROBLEM --> A",
    "A --> B",
    "B --> RETURN",
)
ODD = st.text(st.sampled_from("a{}`\udc00\udfff\x00\x1b\r\n é"), min_size=1).filter(str.strip)


@given(ODD, ODD)
@settings(max_examples=8)
def test_half_characters_pass_through_a_run_its_journal_and_its_cache(problem: str, answer: str) -> None:
    async def go() -> None:
        store = _STORE[0]
        for _ in range(2):  # the second time from the cache
            result = await asyncio.wait_for(
                merrow_runtime.run(TWO, {"problem": problem}, endpoint=FakeEndpoint(lambda _: answer), store=store),
                PATIENCE,
            )
            assert result.status == "finished", result.error
            assert store.run(result.run).outputs == result.outputs

    asyncio.run(go())


_STORE: list[Store] = []


@pytest.fixture(autouse=True, scope="module")
def _store(tmp_path_factory: pytest.TempPathFactory) -> None:
    _STORE[:] = [Store.open(tmp_path_factory.mktemp("odd") / "runs.sqlite")]


async def test_the_error_of_an_odd_answer_is_kept(tmp_path: Path) -> None:
    broken = workflow('A@{ op: Custom, prompt: "x", returns: Number }', "PROBLEM --> A", "A --> RETURN")
    store = Store.open(tmp_path / "runs.sqlite")
    result = await merrow_runtime.run(
        broken, {"problem": "p"}, endpoint=FakeEndpoint(lambda _: "half \ud800"), store=store
    )
    assert result.status == "failed"
    assert "is not a number" in (store.run(result.run).error or "")
    assert "is not a number" in (store.nodes(result.run)[-1].error or "")


async def test_what_goes_over_the_wire_is_whole() -> None:
    async with OpenAIServer() as server:
        server.script(Reply("a\ud800b"))
        options = RunOptions(base_url=server.base_url, no_store=True)
        result = await merrow_runtime.run(TWO, {"problem": "x\udcffy"}, options=options)
    assert result.status == "finished", result.error
    assert server.bodies[0]["messages"][-1]["content"] == "x\ufffdy"
    assert result.outputs == {"RETURN": "a\ufffdb"}


@pytest.mark.skipif(sys.platform != "linux", reason="names of files that are no UTF-8 are Linux's")
async def test_a_file_whose_name_is_no_utf8_is_run(tmp_path: Path) -> None:
    path = tmp_path / "\udcff.mmd"
    path.write_text(flowchart('A@{ op: Custom, prompt: "x" }', "PROBLEM --> A", "A --> RETURN"))
    store = Store.open(tmp_path / "runs.sqlite")
    result = await merrow_runtime.run(path, {"problem": "p"}, endpoint=FakeEndpoint(lambda _: "fine"), store=store)
    assert result.status == "finished"
    assert store.run(result.run).workflow.endswith(".mmd")


@pytest.mark.parametrize("said", ["1e999", "[1, -1e400]", "9" * 5000 + ".5e9999"])
async def test_numbers_that_json_does_not_have_are_asked_for_anew(said: str) -> None:
    answers = iter([said, '{"a": 1}'])
    flow = workflow('A@{ op: Custom, prompt: "x", returns: Json }', "PROBLEM --> A", "A --> RETURN")
    result = await merrow_runtime.run(
        flow, {"problem": "p"}, options=RunOptions(no_store=True), endpoint=FakeEndpoint(lambda _: next(answers))
    )
    assert result.outputs == {"RETURN": {"a": 1}}, result.error


async def test_a_number_of_more_digits_than_can_be_worked_with_is_none() -> None:
    flow = workflow('A@{op: Custom, prompt: "p"}', "PROBLEM@{type: Number}", "PROBLEM --> A --> RETURN")
    with pytest.raises(UsageFailure, match="The input PROBLEM must be of type Number"):
        merrow_runtime.start(flow, {"problem": 10**400}, endpoint=FakeEndpoint(), store=MemoryStore())
    flow = workflow('A@{op: Custom, prompt: "p", returns: Number}', "PROBLEM --> A --> RETURN")
    for digits in (30, 400):
        endpoint = FakeEndpoint(lambda _, digits=digits: f'{{"response": 1{"0" * digits}}}')  # type: ignore[misc]
        result = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=endpoint, store=MemoryStore())
        assert result.status == ("finished" if digits == 30 else "failed"), result.error
        assert "internal error" not in (result.error or "")
