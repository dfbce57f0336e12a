"""Processes that compare answers, kept from one test to the next: to load what they compare with takes longer than most tests."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from merrow_optimizer.evaluation.metrics.worker import MetricWorker

_kept: dict[str, subprocess.Popen[bytes]] = {}
"""By what they do. They end with their standard input, and so with this process."""


@contextmanager
def kept_workers() -> Iterator[None]:
    """Let workers go on with a process that another one left whole; one whose question was not answered is ended, as ever."""
    started, closed = MetricWorker._started, MetricWorker.close

    async def go_on(worker: MetricWorker) -> None:
        if worker._process is None:
            worker._process = _kept.pop(worker._work, None)
        await started(worker)

    async def leave(worker: MetricWorker) -> None:
        if worker._work in _kept:
            await closed(worker)
            return
        async with worker._turn:
            process, worker._process = worker._process, None
            if process is not None:
                _kept[worker._work] = process

    with patch.object(MetricWorker, "_started", go_on), patch.object(MetricWorker, "close", leave):
        yield
