"""Tests of a solution: two guests, and the host between them.

The solution's process answers calls. The tests' process makes them and says what passed. The host passes on frames, counts calls
and decides: a test during which the solution's process died or spoke out of turn has failed whatever the tests' process says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

from merrow_runtime.sandbox.backends import Backend
from merrow_runtime.sandbox.process import Guest, GuestEndedError, parsed_report
from merrow_runtime.sandbox.results import Limits, TestFailure, TestOutcome, TestResult
from merrow_runtime.sandbox.time_limit import time_limit

_NOT_RUN = "not run: the time limit was reached before"
#: Characters of an error or traceback.
_MAX_MESSAGE = 20_000
_NEVER_CALLED = "the test ended without calling the solution"


class _LoadError(Exception):
    def __init__(self, outcome: TestOutcome, failure: TestFailure) -> None:
        super().__init__(failure.error)
        self.outcome: TestOutcome = outcome
        self.failure = failure


class _Trial:
    """All tests of one solution."""

    def __init__(self, backend: Backend, limits: Limits, solution: str, entry_point: str) -> None:
        self._backend = backend
        self._limits = limits
        self._code = solution
        self._entry = entry_point
        self._solution: Guest | None = None
        self._judge: Guest | None = None
        self.blamed = "the test"

    async def run(self, stack: AsyncExitStack, number: int, test: str) -> tuple[TestOutcome, TestFailure | None]:
        """One test; its failure, if it failed."""
        return await self._judged(*await self._guests(stack), number, test)

    def processes(self) -> tuple[int, ...]:
        """The ids of the processes that are in use now."""
        return tuple(guest.pid for guest in (self._solution, self._judge) if guest is not None)

    async def _guests(self, stack: AsyncExitStack) -> tuple[Guest, Guest]:
        """The tests' process and the solution's, loaded: those that are there, or new ones, started side by side."""
        missing = [self._new("solution")] if self._solution is None else []
        if self._judge is None:
            missing.append(self._new("verdict"))
        for guest in missing:
            await stack.enter_async_context(guest)
        await asyncio.gather(*(guest.begin() for guest in missing))
        if self._judge is None:
            self._judge = missing.pop()
        if self._solution is None:
            self._solution = missing.pop()
            await self._judge.send_bytes(b"l", await self._load(self._solution))
        return self._judge, self._solution

    def _new(self, work: str) -> Guest:
        return Guest(self._backend, self._limits, {"work": work, "code": self._code, "entry": self._entry})

    async def _load(self, guest: Guest) -> bytes:
        """What the solution's process says of its names, unread: it is for the tests' process to make sense of."""
        self.blamed = "the solution"
        try:
            kind, payload = await guest.receive()
            if kind == b"l":
                return payload
            if kind != b"f":
                raise GuestEndedError("crashed", "the process sent an invalid message")
            loaded = parsed_report(payload)
        except GuestEndedError as ended:
            raise _LoadError(_outcome(ended), TestFailure("", f"the solution: {ended}")) from None
        failure = TestFailure("", _brief(guest, loaded.get("error")), _brief(guest, loaded.get("traceback")))
        raise _LoadError("memory" if loaded.get("outcome") == "memory" else "error", failure)

    async def _judged(
        self, judge: Guest, solution: Guest, number: int, test: str
    ) -> tuple[TestOutcome, TestFailure | None]:
        """Pass frames to and fro until the verdict. A guest that died is forgotten, so that the next test gets another one."""
        calls = 0
        try:
            self.blamed = "the test"
            await judge.send(b"t", {"number": number, "test": test})
            while True:
                self.blamed = "the test"
                kind, payload = await judge.receive()
                if kind == b"v":
                    return _verdict(judge, test, payload, calls)
                if kind not in b"ca":
                    raise GuestEndedError("crashed", "the process sent an invalid message")
                calls += kind == b"c"
                try:
                    answer = await self._ask(solution, kind, payload)
                except GuestEndedError as ended:
                    self._solution = None
                    return _outcome(ended), await self._after_death(test, judge, ended)
                await judge.send_bytes(*answer)
        except GuestEndedError as ended:
            # The solution's process may be in the middle of a call, hence a new one as well.
            self._judge = self._solution = None
            return _outcome(ended), TestFailure(test, f"the test's process: {ended}")

    async def _ask(self, solution: Guest, kind: bytes, payload: bytes) -> tuple[bytes, bytes]:
        self.blamed = "the solution"
        await solution.send_bytes(kind, payload)
        answer, content = await solution.receive()
        if answer not in b"rb":
            raise GuestEndedError("crashed", "the process sent an invalid answer")
        return answer, content

    async def _after_death(self, test: str, judge: Guest, ended: GuestEndedError) -> TestFailure:
        """Let the tests' process end the test, for its traceback; the verdict is ours."""
        error = f"the solution: {ended}"
        await judge.send(b"d", error)
        try:
            while True:
                kind, payload = await judge.receive()
                if kind == b"v":
                    report = parsed_report(payload)
                    return TestFailure(test, error, _brief(judge, report.get("traceback")))
                await judge.send(b"d", error)
        except GuestEndedError:
            self._judge = None
            return TestFailure(test, error)


def _verdict(judge: Guest, test: str, payload: bytes, calls: int) -> tuple[TestOutcome, TestFailure | None]:
    report = parsed_report(payload)
    if report.get("outcome") == "passed":
        return ("passed", None) if calls else ("failed", TestFailure(test, _NEVER_CALLED))
    return "failed", TestFailure(test, _brief(judge, report.get("error")), _brief(judge, report.get("traceback")))


def _brief(guest: Guest, text: object) -> str:
    """A message of a guest, which keeps it short if it is honest."""
    return guest.shown(text)[:_MAX_MESSAGE] if isinstance(text, str) else ""


def _outcome(ended: GuestEndedError) -> TestOutcome:
    return "crashed" if ended.outcome == "ok" else ended.outcome


async def test_solution(
    backend: Backend, limits: Limits, solution: str, tests: Sequence[str], entry_point: str
) -> TestResult:
    """Run all tests within one time limit; see `Sandbox.test`."""
    trial = _Trial(backend, limits, solution, entry_point)
    failures: list[TestFailure] = []
    worst: TestOutcome = "passed"
    done = 0
    async with AsyncExitStack() as stack:
        try:
            async with time_limit(limits.wall_s, trial.processes):
                for number, test in enumerate(tests, 1):
                    outcome, failure = await trial.run(stack, number, test)
                    done = number
                    if failure is not None:
                        failures.append(failure)
                        worst = outcome if worst in ("passed", "failed") else worst
        except _LoadError as error:
            return TestResult(False, (*failures, error.failure), error.outcome)
        except TimeoutError:
            worst = "timeout"
            failures.append(TestFailure(tests[done], f"{trial.blamed} did not end within {limits.wall_s:g} s"))
            failures += [TestFailure(test, _NOT_RUN) for test in tests[done + 1 :]]
    return TestResult(not failures and done == len(tests), tuple(failures), worst)


test_solution.__test__ = False  # type: ignore[attr-defined]
