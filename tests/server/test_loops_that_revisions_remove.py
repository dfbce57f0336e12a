"""A Loop that a revision takes out of a run while it goes on: the run's report has no end of it any more."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

from tests.runtime.composites.loops import asks, box, custom, flow
from tests.runtime.engine.fakes import FakeEndpoint

from merrow_runtime import RunOptions, Workflow, start
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.database import Store
from merrow_server.reports.run_report import run_report

EDGES = "PROBLEM -->|input| A", "END --> RETURN"
LOOPED = flow(
    box("L", "Loop (max: 2)", custom("A")), custom("END"), *EDGES, "A -.->|again:input| A", "A -->|over:input| END"
)
PLAIN = flow(custom("A"), custom("END"), *EDGES, "A -->|input| END")


async def test_a_report_has_the_loops_that_the_last_workflow_has(tmp_path: Path) -> None:
    for revised, loops in ((None, ["L"]), (PLAIN, [])):
        assert await looped(tmp_path / f"{len(loops)}.sqlite", revised) == loops


async def looped(journal: Path, revised: Workflow | None) -> list[str]:
    """The Loops in the report of a run that is ``revised`` once its Loop has ended."""
    ends, goes_on = asyncio.Event(), asyncio.Event()

    async def answer(request: ModelRequest) -> str:
        if asks(request) == "END":
            ends.set()
            await goes_on.wait()
        return "text"

    with closing(Store.open(journal)) as store:
        run = start(
            LOOPED, {"problem": "x"}, endpoint=FakeEndpoint(answer), store=store, options=RunOptions(fresh=True)
        )
        await ends.wait()
        if revised is not None:
            assert (await run.revise(revised)).state == "applied"
        goes_on.set()
        assert (await run.result()).status == "finished"
        return [one["path"] for one in run_report(store, run.id)["loops"]]
