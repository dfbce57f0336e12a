"""A program that prints forever ends at its limits, and everything it held is given back.

Each is tried more than once: whether a pipe is full when the process is killed is a matter of chance.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.runtime.sandbox.conftest import run

from merrow_runtime.sandbox import Limits, Sandbox, SandboxResult

pytestmark = pytest.mark.thinned(8, "sandbox")

REPEATS = 2
#: No limit of the tests waits as long; a sandbox that hangs fails here and not at the end of the day.
HANGS_S = 120
PRELUDE = """
import os, struct, sys, threading
HEADER = struct.Struct(">cI")
def together(write):
    for _ in range(4):
        threading.Thread(target=write, daemon=True).start()
    write()
"""
#: A loop of each; descriptor 3 is the channel to the host.
FORMS: dict[str, str] = {
    "lines": "print('x' * 4000)",
    "single characters": "print('x', end='', flush=True)",
    "standard error": "sys.stderr.write('x' * 4000)",
    "raw writes to descriptor 1": "os.write(1, b'x' * 4000)",
    "raw writes to descriptor 2": "os.write(2, b'x' * 100_000)",
    "small raw writes to descriptor 2": "os.write(2, b'x')",
    "frames": "os.write(3, HEADER.pack(b'o', 4000) + b'x' * 4000)",
    "empty frames": "os.write(3, HEADER.pack(b'o', 0) * 1000)",
    "empty frames, one by one": "os.write(3, HEADER.pack(b'e', 0))",
    "frames of the greatest length": "os.write(3, HEADER.pack(b'o', 2**24) + b'x' * 2**24)",
    "several threads": "together(lambda: [print('x' * 4000) for _ in range(10**9)])",
    "several threads on both streams": "together(lambda: [os.write(1, b'x' * 4000) and print('x') for _ in range(10**9)])",
}


def program(form: str) -> str:
    return f"{PRELUDE}\ndef solve():\n    while True:\n        {form}\n"


def results(sandbox: Sandbox, source: str, repeats: int = REPEATS) -> list[SandboxResult]:
    async def one_after_the_other() -> list[SandboxResult]:
        async with asyncio.timeout(HANGS_S):
            return [await sandbox.evaluate(source) for _ in range(repeats)]

    return run(one_after_the_other())


@pytest.mark.thinned(24)
@pytest.mark.parametrize("form", FORMS)
def test_endless_output_ends_at_the_limit_on_output(means: str, form: str) -> None:
    found = results(Sandbox(means, Limits(output_kb=16, wall_s=60)), program(FORMS[form]))

    assert {result.outcome for result in found} == {"output"}
    assert all(len(result.stdout) + len(result.stderr) <= 16 * 1024 for result in found)


@pytest.mark.thinned(24)
@pytest.mark.parametrize("form", FORMS)
def test_endless_output_ends_at_the_time_limit(default_means: str, form: str) -> None:
    found = results(Sandbox(default_means, Limits(output_kb=10**7, wall_s=0.1)), program(FORMS[form]))

    assert {result.outcome for result in found} == {"timeout"}


@pytest.mark.parametrize("kind", ["v", "k", "l", "r", "c", "?"])
def test_endless_frames_of_another_kind_end_the_process(default_means: str, kind: str) -> None:
    source = program(f"os.write(3, HEADER.pack({kind.encode()!r}, 0) * 1000)")

    assert {result.outcome for result in results(Sandbox(default_means, Limits(wall_s=30)), source)} == {"crashed"}


@pytest.mark.thinned(24)
@pytest.mark.parametrize("form", ["lines", "raw writes to descriptor 2", "empty frames"])
@pytest.mark.parametrize("place", ["solution", "test"])
def test_endless_output_of_a_solution_or_a_test_ends(default_means: str, form: str, place: str) -> None:
    endless = f"{PRELUDE}\nwhile True:\n    {FORMS[form]}\n"
    solution = "def f():\n    return 1" if place == "test" else f"def f():\n    exec({endless!r}, {{}})"
    test = f"f()\nexec({endless!r}, {{}})" if place == "test" else "f()"

    async def judged(limits: Limits) -> str:
        async with asyncio.timeout(HANGS_S):
            return (await Sandbox(default_means, limits).test(solution, [test], "f")).outcome

    assert run(judged(Limits(output_kb=64, wall_s=60))) == "output"
    assert run(judged(Limits(output_kb=10**7, wall_s=1))) == "timeout"


def test_a_process_that_closes_its_streams_and_goes_on_ends(default_means: str) -> None:
    source = "import os\ndef solve():\n    os.closerange(0, 64)\n    while True: pass"

    assert {result.outcome for result in results(Sandbox(default_means, Limits(wall_s=1)), source)} == {"timeout"}


def test_the_turn_of_an_endless_program_is_given_back(default_means: str) -> None:
    sandbox = Sandbox(default_means, Limits(output_kb=64, wall_s=30), concurrency=1)

    async def in_turn() -> list[SandboxResult]:
        sources = [program(FORMS["lines"]), program(FORMS["empty frames"])] * REPEATS + ["def solve():\n    return 1"]
        async with asyncio.timeout(HANGS_S):
            return await asyncio.gather(*(sandbox.evaluate(source) for source in sources))

    found = run(in_turn())

    assert [result.outcome for result in found] == ["output"] * 2 * REPEATS + ["ok"]


def test_a_cancelled_endless_program_leaves_nothing(
    default_means: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    async def cancelled() -> None:
        sandbox = Sandbox(default_means, Limits(output_kb=10**7))
        task = asyncio.create_task(sandbox.evaluate(program(FORMS["lines"])))
        await asyncio.sleep(0.5)
        task.cancel()
        async with asyncio.timeout(HANGS_S):
            with pytest.raises(asyncio.CancelledError):
                await task

    run(cancelled())

    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("presses", [1, 2, 3])
def test_ctrl_c_during_endless_output_ends_quietly(default_means: str, tmp_path: Path, presses: int) -> None:
    """Only the KeyboardInterrupt itself is shown: nothing of an event loop that is closed, of tasks or of transports."""
    source = f"""
import asyncio
from merrow_runtime.sandbox import Limits, Sandbox
async def main():
    task = asyncio.create_task(Sandbox({default_means!r}, Limits(output_kb=10**7)).evaluate({program(FORMS["lines"])!r}))
    await asyncio.sleep(0.7)
    print("started", flush=True)
    await task
try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted")
"""
    host = subprocess.Popen(
        [sys.executable, "-c", source],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert host.stdout is not None
    assert host.stdout.readline() == "started\n"
    for _ in range(presses):
        host.send_signal(signal.SIGINT)
    try:
        _, errors = host.communicate(timeout=HANGS_S)
    finally:
        host.kill()

    # Where the second press arrives while the first is dealt with, Python may show that KeyboardInterrupt.
    assert "Event loop is closed" not in errors
    assert "Exception ignored" not in errors
    assert presses > 1 or errors == ""
