"""``python -m benchmarks.limits_at_once``: what the user's limits add to a call, with one process and with several at once.

Each process makes calls to an endpoint that answers at once, some at a time, as a run does: first without anything that counts
them, then counted, then counted within limits a minute that are too high to matter. The limits are in a file, or in PostgreSQL
(``--postgres``). All processes of a kind work at the same time; kinds take turns, and figures are medians of the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from statistics import median
from typing import cast

from tests.postgres import programs, started

from merrow_runtime.calls.calling import Calling
from merrow_runtime.calls.gate import CallSlots
from merrow_runtime.errors import EndpointFailure
from merrow_runtime.models.spending_limits import MinuteLimits, SpendingLimits
from merrow_runtime.requests import Message, ModelReply, ModelRequest
from merrow_runtime.spending.meter import meter_of
from merrow_runtime.usage import Usage

KINDS = ("nothing", "counted", "limited")
_ORIGIN = "https://models.example"
_HIGH = MinuteLimits(10**7, 10**10)


class _AtOnce:
    """An endpoint that answers at once."""

    origin = _ORIGIN

    async def complete(self, request: ModelRequest, on_text: object = None) -> ModelReply:
        del on_text
        return ModelReply("yes", "stop", Usage(20, 10, 1, 0.0001), request.model, 0.3)


class _Nobody:
    """Hears nothing."""

    def retrying(self, failure: EndpointFailure, wait: float) -> None: ...
    def moved(self, moment: object) -> None: ...
    def streamed(self, text: str) -> None: ...
    async def lost(self, usage: Usage, why: str) -> None: ...


async def _calls(kind: str, calls: int, at_a_time: int) -> tuple[float, float]:
    """Wall-clock and CPU seconds of so many calls, after a few that open what is needed."""
    limits = SpendingLimits(endpoints={_ORIGIN: _HIGH} if kind == "limited" else {})
    meter = None if kind == "nothing" else meter_of(_ORIGIN, limits, "/w.mmd")
    calling = Calling(_AtOnce(), CallSlots(at_a_time), None, None, meter)  # type: ignore[arg-type]
    request = ModelRequest("m", (Message("user", "What is it? " * 20),), max_tokens=100)

    async def some(number: int) -> None:
        for _ in range(number):
            await calling.call(request, None, _Nobody())

    await some(5)
    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(some(calls // at_a_time) for _ in range(at_a_time)))
    passed = time.perf_counter() - wall, time.process_time() - cpu
    calling.close()
    return passed


def _process(kind: str, calls: int, at_a_time: int, together: Barrier, said: Queue[tuple[float, float]]) -> None:
    together.wait()
    said.put(asyncio.run(_calls(kind, calls, at_a_time)))


def measured(kind: str, processes: int, calls: int, at_a_time: int) -> tuple[float, float]:
    """Milliseconds of the clock and of CPU that a call takes in each of so many processes; medians of these."""
    context = multiprocessing.get_context("spawn")
    together, said = context.Barrier(processes), cast("Queue[tuple[float, float]]", context.Queue())
    begun = [context.Process(target=_process, args=(kind, calls, at_a_time, together, said)) for _ in range(processes)]
    for process in begun:
        process.start()
    figures = [said.get() for _ in begun]
    for process in begun:
        process.join()
    wall, cpu = (1000 * median(one) / calls for one in zip(*figures, strict=True))
    return wall, cpu


@contextmanager
def place(postgres: bool) -> Iterator[None]:
    """Settings under which everything is kept in a folder of its own, or in a server of its own."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(MERROW_STATE_DIR=f"{folder}/state", MERROW_CONFIG_DIR=f"{folder}/config")
        os.environ.pop("MERROW_JOURNAL", None)
        if not postgres:
            yield
            return
        found = programs()
        if found is None:
            raise SystemExit("PostgreSQL is not installed (Debian: apt-get install postgresql).")
        server = started(found)
        try:
            os.environ["MERROW_JOURNAL"] = server.url("bench")
            yield
        finally:
            server.stop()
            shutil.rmtree(server.folder, ignore_errors=True)


def main() -> None:
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.limits_at_once", description=(__doc__ or "").splitlines()[0]
    )
    options.add_argument("--processes", type=int, nargs="+", default=[1, 4])
    options.add_argument("--calls", type=int, default=400, help="of each process")
    options.add_argument("--at-a-time", type=int, default=8, help="calls of each process")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--postgres", action="store_true", help="the limits are in PostgreSQL")
    given = options.parse_args()
    print("| processes | call | ms | CPU ms | times a counted call |")
    print("|---:|---|---:|---:|---:|")
    with place(given.postgres):
        measured("limited", 1, given.at_a_time, given.at_a_time)
        for processes in given.processes:
            rounds = [
                {kind: measured(kind, processes, given.calls, given.at_a_time) for kind in KINDS}
                for _ in range(given.rounds)
            ]
            for kind in KINDS:
                wall, cpu = (median(one[kind][which] for one in rounds) for which in (0, 1))
                ratio = median(one[kind][0] / one["counted"][0] for one in rounds)
                print(f"| {processes} | {kind} | {wall:.2f} | {cpu:.2f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
