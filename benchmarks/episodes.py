"""Episodes of TextCraft with an endpoint in this process: turns a second, and what the journal keeps of a turn.

python -m benchmarks.episodes [TURNS]
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import merrow_runtime
from merrow_runtime.models.endpoint import OnText
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.store.database import Store
from merrow_runtime.workflow import Workflow, check_workflow

FLOW = """---
workflow:
  memory: {last: 20}
  prompts: {act: Say the next command.}
---
flowchart TD
    PROBLEM([Task]):::Interface
    RETURN([Result]):::Interface
    subgraph EPISODE["Loop (max: TURNS)"]
        GAME["Environment<br/>(env: textcraft)"]
        DONE{Done?}
        ACT["Custom<br/>(role: act)"]
    end
    PROBLEM -->|task| GAME
    GAME --> DONE
    DONE -->|yes| RETURN
    DONE -->|no:input| ACT
    ACT -.->|again:action| GAME
    GAME -->|over| RETURN
    classDef Interface fill:#eee
"""


class Player:
    """Says the same to everything."""

    origin = "http://player.test"

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        del request, on_text
        return ModelReply("Think: I look at what I have.\n> inventory")

    async def close(self) -> None:
        """Nothing to do."""


async def _played(flow: Workflow, store: Store, episodes: int) -> None:
    running = [
        merrow_runtime.run(flow, {"PROBLEM": f'{{"seed": {seed}}}'}, endpoint=Player(), store=store)
        for seed in range(episodes)
    ]
    for result in await asyncio.gather(*running):
        if result.status != "finished":
            raise RuntimeError(result.error)


def measured(turns: int, episodes: int) -> str:
    """A line: so many episodes at the same time, of so many turns."""
    flow = check_workflow(FLOW.replace("TURNS", str(turns)), name="game.mmd")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.sqlite"
        store = Store.open(path)
        empty = _size(path)
        began, cpu = time.perf_counter(), time.process_time()
        asyncio.run(_played(flow, store, episodes))
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        store.close()
        size = _size(path) - empty
    all_turns = turns * episodes
    return (
        f"{episodes:>4} episodes of {turns} turns: {all_turns / seconds:,.0f} turns/s, {all_turns / cpu:,.0f} per second of the"
        f" processor; {size / all_turns / 1_000:.1f} KB a turn in the journal"
    )


def _size(journal: Path) -> int:
    """The bytes in a journal's pages, also in those that are not in its file yet."""
    with closing(sqlite3.connect(journal)) as database:
        return int(
            database.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()[0]
        )


if __name__ == "__main__":
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    for count in (1, 100):
        print(measured(many, count), flush=True)
