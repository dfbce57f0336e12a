"""The sandbox's door: evaluate code, test a solution."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from merrow_runtime.sandbox.backends import Backend, choose_soon
from merrow_runtime.sandbox.process import Guest, GuestEndedError
from merrow_runtime.sandbox.results import PROTOCOL, BackendStatus, Limits, SandboxJob, SandboxResult, TestResult
from merrow_runtime.sandbox.testing import test_solution
from merrow_runtime.sandbox.time_limit import time_limit


class Sandbox:
    """Runs generated Python code in processes of their own that can reach nothing.

    Args:
        backend: name of a back end (`available_backends`); None: the best there is.
        limits: what the code may use.
        allow_unsafe: where nothing adequate exists, run with resource limits alone.
        concurrency: evaluations and tests at once in one event loop; what comes later waits. Default: the number of processors.

    One sandbox may serve any number of event loops.
    """

    def __init__(
        self,
        backend: str | None = None,
        limits: Limits | None = None,
        allow_unsafe: bool = False,
        concurrency: int | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._asked_for = backend
        self._allow_unsafe = allow_unsafe
        self._concurrency = concurrency or os.cpu_count() or 1
        self._backend: Backend | None = None
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    async def status(self) -> BackendStatus:
        """The back end in force.

        Raises:
            SandboxRefusedError: when there is none.
        """
        return (await self._chosen()).status()

    async def evaluate(self, code: str, call: str | None = "solve") -> SandboxResult:
        """Run code and call one function of it without arguments (None: none).

        Raises:
            SandboxRefusedError: when there is no adequate sandbox. Whatever the code does is a result, never an exception.
        """
        return await self.run(SandboxJob(code, entry=call))

    async def run(self, job: SandboxJob) -> SandboxResult:
        """Run one job.

        Raises:
            SandboxRefusedError: as `evaluate`.
        """
        backend = await self._chosen()
        async with self._turn():
            guest = Guest(backend, self.limits, _work(job))
            async with guest:
                try:
                    async with time_limit(job.timeout_s or self.limits.wall_s, lambda: (guest.pid,)):
                        await guest.begin()
                        answer = await guest.receive_value()
                    return _result(guest, answer)
                except TimeoutError:
                    ended = GuestEndedError("timeout")
                except GuestEndedError as error:
                    ended = error
            return SandboxResult(ended.outcome, None, guest.text("o"), guest.text("e"), _sentence(ended))

    async def test(self, solution: str, tests: Sequence[str], entry_point: str) -> TestResult:
        """Run tests against a solution, each in a process that the solution has no part in.

        Args:
            solution: Python source that defines `entry_point`.
            tests: Python statements, each with assertions that call the solution by its name or as `candidate`. A test that ends
                without having called the solution has failed: a check that is defined but not called says nothing.
            entry_point: the function under test.

        Raises:
            SandboxRefusedError: as `evaluate`.
        """
        if not tests:
            return TestResult(False, (), "no_tests")
        backend = await self._chosen()
        async with self._turn():
            return await test_solution(backend, self.limits, solution, tests, entry_point)

    def request_of(
        self,
        job: SandboxJob | None = None,
        *,
        solution: str | None = None,
        tests: Sequence[str] = (),
        entry_point: str | None = None,
    ) -> dict[str, Any]:
        """What a result depends on, as JSON, for hashing: of a job, or of a test of a solution.

        The back end in force is no part of it, nor is the interpreter: a recording is replayed anywhere.
        """
        shared = {"sandbox": PROTOCOL, "limits": self.limits.to_json()}
        if job is not None:
            return {**shared, "work": "evaluate", **_content(job), "timeout_s": job.timeout_s}
        return {**shared, "work": "test", "code": solution, "tests": list(tests), "entry": entry_point}

    async def _chosen(self) -> Backend:
        if self._backend is None:
            self._backend = await choose_soon(self._asked_for, self._allow_unsafe)
        return self._backend

    def _turn(self) -> asyncio.Semaphore:
        return self._turns.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self._concurrency))


def _content(job: SandboxJob) -> dict[str, Any]:
    return {"code": job.code, "stdin": job.stdin, "entry": job.entry, "arguments": list(job.arguments)}


def _work(job: SandboxJob) -> dict[str, Any]:
    return {"work": "evaluate", **_content(job)}


def _sentence(ended: GuestEndedError) -> str:
    text = str(ended)
    return f"{text[0].upper()}{text[1:]}."


def _result(guest: Guest, answer: dict[str, Any]) -> SandboxResult:
    """A result from what the guest says, which may be anything: the code could have written the frame itself."""
    if answer.get("outcome") == "output":
        raise GuestEndedError("output")
    if answer.get("outcome") not in ("ok", "error", "memory"):
        raise GuestEndedError("crashed", "the process sent an invalid result")
    texts: dict[str, str] = {}
    for name in ("value", "error", "traceback"):
        text = answer.get(name)
        if isinstance(text, str):
            texts[name] = guest.shown(text)
    return SandboxResult(
        answer["outcome"],
        texts.get("value"),
        guest.text("o"),
        guest.text("e"),
        texts.get("error", ""),
        texts.get("traceback", ""),
    )
