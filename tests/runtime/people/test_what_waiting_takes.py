"""What a run takes that waits for a person: commits, and room on the disk."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.runtime.composites.loops import custom, flow
from tests.runtime.people.asking import Asking, person

from merrow_runtime.store import beating, writer
from merrow_runtime.store.connection import DatabaseConnection
from merrow_runtime.store.database import Store


async def test_asking_is_one_commit_and_so_is_answering_and_the_use_of_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What comes on a slow machine alone: signs of life, and a commit of its own of what nothing waits for.
    monkeypatch.setattr(beating, "BEAT", 4 * PATIENCE)
    monkeypatch.setattr(writer, "_LAZY", PATIENCE)
    commits: list[str] = []
    transaction = DatabaseConnection.transaction

    def counted(database: DatabaseConnection, *given: Any, **named: Any) -> Any:
        commits.append("")
        return transaction(database, *given, **named)

    with closing(Store.open(tmp_path / "runs.sqlite", spare=False)) as store:
        monkeypatch.setattr(DatabaseConnection, "transaction", counted)
        run = Asking(store, flow(person("ASK"), "PROBLEM --> ASK --> RETURN"))
        await run.begin()
        assert len(commits) == 2  # the run begins; it asks and waits
        run.answer("ASK")
        assert len(commits) == 3
        assert (await run.go_on()).status == "finished"
        assert len(commits) == 6  # the run is taken; the answer is a call; the run ends
        commits.clear()
        several = Asking(store, flow(*(person(name) for name in ("ONE", "TWO", "THREE")), custom("END"), *EDGES))
        await several.begin()
        assert len(commits) == 2


EDGES = ("PROBLEM --> ONE & TWO & THREE", "ONE & TWO & THREE --> END --> RETURN")


async def test_a_waiting_run_takes_a_few_kilobytes(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    asks = flow(custom("A"), person("ASK"), custom("B"), "PROBLEM --> A --> ASK --> B --> RETURN")
    sizes = []
    for count in (1, 40):
        with closing(Store.open(path, spare=False)) as store:
            for _ in range(count):
                await Asking(store, asks).begin(fresh=True)
            assert len(store.waiting()) == sum((1, 40)[: len(sizes) + 1])
        sizes.append(path.stat().st_size)
    assert (sizes[1] - sizes[0]) / 40 <= 8_000
