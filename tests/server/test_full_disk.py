"""The disk of the journal fills while an evaluation with limits a minute runs: a sentence says so, and a resume loses nothing."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.postgres import server as postgres_server
from tests.runtime.openai_server import OpenAIServer, Received, Step
from tests.server.program import merrow
from tests.server.test_evaluate_command import answer, data, evaluate, server, table
from tests.server.workers.cluster import cluster
from tests.small_disk import fill, small_disk

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="a disk that is mounted"),
    pytest.mark.slow,
]
__all__ = ["server"]
ITEMS = 60
SIZE = 32
"""Megabytes: what is set aside for a full disk takes eight of them."""


@dataclass
class Place:
    """A journal on a small disk."""

    disk: Path


@pytest.fixture(params=["file", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    if request.param == "file":
        with small_disk(tmp_path / "disk", SIZE) as disk:
            monkeypatch.setenv("MERROW_STATE_DIR", str(disk / "state"))
            yield Place(disk)
        return
    with postgres_server() as database, small_disk(database.folder / "disk", SIZE) as disk:
        tables = disk / "tables"
        tables.mkdir()
        shutil.chown(tables, "postgres", "postgres")
        database.sql(f"CREATE TABLESPACE small LOCATION '{tables}'")
        database.sql("ALTER DATABASE postgres SET default_tablespace = small")
        monkeypatch.setenv("MERROW_JOURNAL", database.url())
        yield Place(disk)
        database.stop()


def stops_and_is_resumed(server: OpenAIServer, place: Place, in_flight: int, *engine: str) -> None:
    """``in_flight`` is how many calls may have been on their way, which are made again."""
    data(ITEMS)
    fillers: list[Path] = []

    def filling(request: Received) -> Step:
        if len(server.requests) == ITEMS:
            fillers.append(fill(place.disk))
        return answer(request)

    server.answer = filling
    stopped = evaluate("--concurrency", "4", *engine)
    assert fillers
    assert stopped.code == 1, stopped.err
    [sentence, after, _] = stopped.err.splitlines()[-3:]
    assert "is full" in sentence
    assert "merrow resume" in after
    assert stopped.err.count("merrow: ") == 1, stopped.err
    fillers[0].unlink()
    [one] = merrow("evaluations", "--format", "json").json
    kept = [row for row in table(one["evaluation"]) if row[2] != "unanswered"]
    assert kept
    server.answer = answer
    done = merrow("resume", one["evaluation"])
    assert done.code == 0, done.err
    asked = Counter(request.prompt for request in server.requests)
    assert len(asked) == 2 * ITEMS
    assert sum(asked.values()) - len(asked) <= in_flight
    assert set(kept) <= set(table(one["evaluation"]))
    assert sorted(table(one["evaluation"])) == sorted(table(evaluate("--fresh", "--format", "json").json["evaluation"]))


@pytest.fixture
def limits(server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a minute, so that processes take permits."""
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.toml").write_text(f'[limits."{server.origin}"]\nrequests_per_minute = 10000\n')


@pytest.mark.usefixtures("limits")
def test_an_evaluation_says_so_and_its_resume_loses_nothing(server: OpenAIServer, place: Place) -> None:
    stops_and_is_resumed(server, place, 8)


@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_so_does_one_whose_items_workers_answer(server: OpenAIServer, place: Place, tmp_path: Path) -> None:
    with cluster(tmp_path / "cluster") as made:
        stops_and_is_resumed(server, place, 16, "--engine", "dask", "--scheduler", made.address, "--chunk", "8")
