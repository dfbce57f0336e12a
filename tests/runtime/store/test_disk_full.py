"""A full disk: what is in flight is kept from the space set aside, it is said so, and after making room the run goes on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.runtime.store.making import call, run
from tests.small_disk import small_disk

from merrow_runtime.errors import StoreFailure
from merrow_runtime.store.database import Store


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk") as made:
        yield made


async def test_a_full_disk_loses_nothing_that_was_finished(disk: Path) -> None:
    store = Store.open(disk / "runs.sqlite")
    journal = store.begin(run())
    free = os.statvfs(disk)
    filler = disk / "filler"
    filler.write_bytes(b"x" * (free.f_bavail * free.f_frsize - 300_000))
    committed, failed = 0, 0
    while failed < 5:
        # Two finish at the same moment; the failure of their commit is told to both.
        pair = [journal.record_call(call(number=2 * (committed + failed) + more, text="y" * 50_000)) for more in (0, 1)]
        results = await asyncio.gather(*pair, return_exceptions=True)
        if isinstance(results[0], BaseException):
            assert all(isinstance(result, StoreFailure) for result in results)
            assert "disk" in str(results[0])
            assert "full" in str(results[0])
            failed += 1
        else:
            committed += 1
    assert len(store.calls("run-1")) == 2 * (committed + failed)
    await journal.close()
    store.close()

    filler.unlink()
    store = Store.open(disk / "runs.sqlite")
    _, journal = store.take("run-1")
    for number in range(2 * (committed + failed)):
        made = call(number=number)
        assert (await journal.recall(made.key, made.request_hash)) is not None
    await journal.record_call(call(number=10_000))
    await journal.close()
    store.close()
