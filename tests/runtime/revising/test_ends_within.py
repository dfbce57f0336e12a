"""A budget that ends, a disk that is full and a key that is refused while a revision is on its way: said in a sentence, and after
its remedy the run continues with the revision, and pays nothing twice.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.runtime.engine.fakes import FakeEndpoint, workflow
from tests.runtime.revising.test_revisers import CHAIN, World, changes, custom

from merrow_optimizer.revising.model import ModelReviser
from merrow_runtime import RunOptions, resume, start
from merrow_runtime.errors import EndpointFailure, UsageFailure
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.revising.revision_requests import ask_for
from merrow_runtime.running.revisions import Revisions
from merrow_runtime.running.run import RunResult
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.store.writer import Writer
from merrow_runtime.usage import Usage
from merrow_runtime.workflow import Workflow

EDIT = changes({"do": "edit", "id": "C", "objective": "do it well"})


def counted(world: World) -> None:
    """Each answer uses 110 tokens."""
    plain = world.answer

    def answer(request: ModelRequest) -> Any:
        said = plain(request)
        return ModelReply(said, usage=Usage(100, 10, 1)) if isinstance(said, str) else said

    world.endpoint._answer = answer


def ended(world: World, **options: Any) -> RunResult:
    async def whole() -> RunResult:
        run = start(workflow(*CHAIN), {"problem": "x"}, endpoint=world.endpoint, store=world.store, run_id="r",
                    reviser=ModelReviser(), options=RunOptions(**options))  # fmt: skip
        return await run.result()

    return asyncio.run(whole())


def continued(world: World, store: Store | MemoryStore | None = None, **options: Any) -> RunResult:
    async def whole() -> RunResult:
        run = resume("r", endpoint=world.endpoint, store=store or world.store, reviser=ModelReviser(),
                     options=RunOptions(**options))  # fmt: skip
        return await run.result()

    return asyncio.run(whole())


@pytest.mark.parametrize("strategy", ["wait", "overlap"])
def test_a_budget_that_ends_within_a_revision_leaves_it_open(strategy: str) -> None:
    world = World(EDIT)
    counted(world)
    first = ended(world, refine={"every": 2, "max": 1, "strategy": strategy}, budget_tokens=220)
    assert first.status == "failed"
    assert first.failure is not None
    assert first.failure.code == "budget"
    assert "--budget-tokens" in (first.error or "")
    assert [one.state for one in world.store.revisions("r")] == ["open"]
    assert continued(world, budget_tokens=10_000).status == "finished"
    assert [one.state for one in world.store.revisions("r")] == ["applied"]
    assert world.asked[:2] == ["do A", "do B"]
    assert world.asked[-1] == "do it well"
    assert len(world.views) == 1


def test_a_key_that_is_refused_within_a_revision_leaves_it_open() -> None:
    world = World(EDIT)
    plain, refused = world.answer, [True]

    def answer(request: ModelRequest) -> Any:
        if request.messages[0].content.startswith("You look") and refused:
            refused.pop()
            return EndpointFailure("The endpoint refuses the key.", transient=False, fatal=True)
        return plain(request)

    world.endpoint._answer = answer
    assert ended(world, refine={"every": 2}).status == "failed"
    assert [one.state for one in world.store.revisions("r")] == ["open"]
    assert continued(world).outputs == {"RETURN": "do it well"}
    assert Counter(world.asked) == {"do A": 1, "do B": 1, "do it well": 1}


def test_what_a_model_can_not_answer_refuses_the_revision_and_the_run_goes_on() -> None:
    world = World(EDIT)
    plain = world.answer

    def answer(request: ModelRequest) -> Any:
        if request.messages[0].content.startswith("You look"):
            return EndpointFailure("It has no such model.", transient=False)
        return plain(request)

    world.endpoint._answer = answer
    assert ended(world, refine={"every": 2}).status == "finished"
    (revision,) = world.store.revisions("r")
    assert (revision.state, "no such model" in revision.reason) == ("refused", True)


def full_from(monkeypatch: pytest.MonkeyPatch, commit: int) -> None:
    """The disk has no room any more for the commits of a journal from this one on."""
    whole, left = Writer._commit, [commit]

    def committed(self: Writer, statements: Any, patience: float) -> None:
        left[0] -= 1
        if left[0] == 0:
            (pages,) = self.database.execute("PRAGMA page_count").fetchone()
            self.database.execute(f"PRAGMA max_page_count = {pages}")
        whole(self, statements, patience)

    monkeypatch.setattr(Writer, "_commit", committed)


LONG = "y" * 9_000
"""What has no room in pages that are there."""


@pytest.mark.parametrize("by", ["model", "person"])
@pytest.mark.parametrize("commit", range(2, 9))
def test_a_full_disk_within_a_revision_is_said_and_the_run_continues_once_there_is_room(
    by: str, commit: int, tmp_path: Path
) -> None:
    world = World(EDIT, EDIT, EDIT)
    plain, has_asked = world.answer, asyncio.Event()
    if by == "model":
        has_asked.set()

    async def answer(request: ModelRequest) -> str:
        asked = request.messages[0].content
        if asked.startswith(("do C", "do it well")):
            await has_asked.wait()  # Whoever reads the events asks before the last node has ended.
        return f"{plain(request)}{LONG if asked.startswith('do') else ''}"

    world.endpoint = FakeEndpoint(answer)
    person = workflow(
        *(line.replace("do C", "do it well") for line in CHAIN), custom("C2"), "A -->|input| C2", "C2 -->|input| C"
    )

    async def first(store: Store) -> RunResult:
        refine = {"every": 2, "max": 1} if by == "model" else None
        run = start(workflow(*CHAIN), {"problem": "x"}, endpoint=world.endpoint, store=store, run_id="r",
                    reviser=ModelReviser(), options=RunOptions(refine=refine))  # fmt: skip
        if by == "person":
            async for event in run.events():
                if event.event == "node_finished" and event.node == "B":
                    revision = asyncio.ensure_future(run.revise(person))
                    await asyncio.sleep(0)
                    has_asked.set()
                    told = (await asyncio.gather(revision, return_exceptions=True))[0]
                    assert not isinstance(told, BaseException) or "disk" in str(told)
        has_asked.set()
        return await run.result()

    path = tmp_path / "runs.sqlite"
    with pytest.MonkeyPatch.context() as patch, closing(Store.open(path)) as store:
        full_from(patch, commit)
        result = asyncio.run(first(store))
    if result.status == "failed":
        assert result.failure is not None
        assert result.failure.code == "journal"
        assert "make room, then resume the run" in (result.error or "")
    with closing(sqlite3.connect(path)) as database:
        # The next process finds that this one is not there any more.
        database.execute("UPDATE holders SET holder = NULL")
        database.commit()
    with closing(Store.open(path)) as store:
        again = continued(world, store) if store.run("r").status != "finished" else result
        assert again.status == "finished", again.error
        states = [one.state for one in store.revisions("r")]
    assert states in (["applied"], [])
    if states or by == "model":
        assert again.outputs["RETURN"].startswith("do it well")
    # What was answered and could not be written is asked again, and nothing else.
    assert sum(count - 1 for count in Counter(world.asked).values()) <= 2


@pytest.mark.parametrize("node", ["A", "B", "C"])
def test_a_workflow_that_comes_as_the_run_ends_is_told_so(node: str, tmp_path: Path) -> None:
    person = workflow(*(line.replace("do C", "do it well") for line in CHAIN))

    async def work(store: Store) -> str:
        run = start(workflow(*CHAIN), {"problem": "x"}, endpoint=World(EDIT).endpoint, store=store, run_id="r")
        said = ""
        async for event in run.events():
            if event.event == "node_finished" and event.node == node:
                try:
                    record = await asyncio.wait_for(run.revise(person), PATIENCE)
                    said = f"{record.state}: {record.reason}"
                except UsageFailure as over:
                    said = str(over)
        assert (await run.result()).status == "finished"
        return said

    with closing(Store.open(tmp_path / "runs.sqlite")) as store:
        said = asyncio.run(work(store))
        assert [one.state for one in store.revisions("r")] in ([], ["applied"], ["refused"])
    assert said.startswith("applied") or "had finished before" in said or "is over" in said


def test_a_workflow_asked_for_in_the_very_last_moment_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it comes just before the commit with which the run finishes, or just after."""
    path, person = tmp_path / "runs.sqlite", workflow(*(line.replace("do C", "do it well") for line in CHAIN))
    close = Revisions.close

    async def closed(self: Revisions, failure: BaseException | None, *, done: bool) -> None:
        await close(self, failure, done=done)
        with closing(Store.open(path)) as other:
            assert ask_for(other, "r", person).is_under_way

    monkeypatch.setattr(Revisions, "close", closed)

    def finished() -> Workflow:
        async def whole() -> RunResult:
            with closing(Store.open(path)) as store:
                return await resume("r", endpoint=World().endpoint, store=store).result()

        assert asyncio.run(whole()).status == "finished"
        return person

    async def stopped() -> None:
        with closing(Store.open(path)) as store:
            run = start(workflow(*CHAIN), {"problem": "x"}, endpoint=World().endpoint, store=store, run_id="r")
            run.cancel()
            await run.result()

    with monkeypatch.context() as before:
        before.setattr(Revisions, "close", close)
        asyncio.run(stopped())
    with closing(Store.open(path)) as store:
        with pytest.raises(UsageFailure, match="has finished, so nothing of it is left to change"):
            ask_for(store, "r", finished)
        told = [(one.state, one.reason) for one in store.revisions("r")]
    assert told == [("refused", "The run had finished before its workflow could change.")]
