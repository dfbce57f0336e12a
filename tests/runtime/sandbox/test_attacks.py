"""Attacks on the sandbox. Those that do no harm also run without it, to show that they would succeed."""

from __future__ import annotations

import asyncio
import os
import platform
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.runtime.sandbox.attacks import CONTROLLED, SYSTEM_CALLS, code
from tests.runtime.sandbox.conftest import run

from merrow_runtime.sandbox import Limits, Sandbox, SandboxResult

pytestmark = pytest.mark.thinned(8, "sandbox")

LINUX = sys.platform.startswith("linux")


@dataclass
class Target:
    """What attacks go for."""

    places: dict[str, str]
    process: subprocess.Popen[bytes]


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    secret = tmp_path / "secret"
    secret.write_text("the secret of the user")
    victim = tmp_path / "victim"
    victim.write_text("precious")
    monkeypatch.setenv("MERROW_TEST_SECRET", "the secret of the environment")
    server = socket.create_server(("127.0.0.1", 0))
    local = socket.socket(socket.AF_UNIX)
    local.bind(str(tmp_path / "s"))
    local.listen()

    def greet() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.sendall(b"hello")

    threading.Thread(target=greet, daemon=True).start()
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    places = {
        "secret": str(secret),
        "victim": str(victim),
        "outside": str(tmp_path / "written"),
        "hardlink": str(tmp_path / "hardlink"),
        "home": str(Path.home()),
        "entries": " ".join(place.name for place in Path.home().iterdir() if " " not in place.name),
        "port": str(server.getsockname()[1]),
        "socket": str(tmp_path / "s"),
        "process": str(process.pid),
    }
    yield Target(places, process)
    process.kill()
    process.wait()
    assert process.stdin is not None
    process.stdin.close()
    server.shutdown(socket.SHUT_RDWR) if LINUX else None
    server.close()
    local.close()


def evaluate(means: str, source: str, limits: Limits | None = None) -> SandboxResult:
    return run(Sandbox(means, limits).evaluate(source))


@pytest.mark.parametrize("name", CONTROLLED)
def test_an_attack_fails(means: str, name: str, target: Target) -> None:
    result = evaluate(means, code(CONTROLLED[name], target.places))

    assert result.outcome in ("error", "crashed"), result
    assert "BREACH" not in f"{result.value}{result.stdout}"
    assert target.process.poll() is None
    assert Path(target.places["secret"]).stat().st_mtime > 1
    assert Path(target.places["victim"]).read_text() == "precious"
    assert not Path(target.places["outside"]).exists()
    assert not Path(target.places["hardlink"]).exists()


@pytest.mark.skipif(not LINUX, reason="some of these attacks are Linux's")
@pytest.mark.parametrize("name", CONTROLLED)
def test_the_attack_would_succeed_without_a_sandbox(name: str, target: Target, tmp_path: Path) -> None:
    source = code(CONTROLLED[name], target.places) + "\nprint(solve())\n"

    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path, check=False
    )

    assert "BREACH" in done.stdout, done.stderr


@pytest.mark.skipif(not LINUX or platform.machine() != "x86_64", reason="the numbers are those of Linux on x86_64")
def test_dangerous_system_calls_are_refused(means: str) -> None:
    source = f"""
import ctypes
def solve():
    libc = ctypes.CDLL(None, use_errno=True)
    allowed = []
    for name, numbers in {SYSTEM_CALLS!r}.items():
        for number in numbers:
            ctypes.set_errno(0)
            result = libc.syscall(number, 0, 0, 0, 0, 0, 0)
            if result >= 0 or ctypes.get_errno() not in (1, 38):
                allowed.append((name, result, ctypes.get_errno()))
    return allowed
"""
    assert evaluate(means, source).value == "[]"


@pytest.mark.skipif(not LINUX or platform.machine() != "x86_64", reason="x86_64 has a second, older calling convention")
def test_the_other_calling_convention_kills(means: str) -> None:
    x32_getpid = 0x40000000 + 39

    result = evaluate(means, f"import ctypes\ndef solve():\n    return ctypes.CDLL(None).syscall({x32_getpid})\n")

    assert result.outcome == "crashed"


def test_an_endless_loop_ends(means: str) -> None:
    source = "def solve():\n    print('begun')\n    while True: pass"
    for seconds in (2, 60):  # A machine too busy to begin it is given longer.
        result = evaluate(means, source, Limits(wall_s=seconds, cpu_s=600))
        if result.stdout:
            break

    assert (result.outcome, result.stdout, result.error) == ("timeout", "begun\n", "The time limit was reached.")


def test_processor_time_ends_before_wall_time(default_means: str) -> None:
    result = evaluate(default_means, "def solve():\n    while True: pass", Limits(wall_s=600, cpu_s=1))

    assert (result.outcome, result.error) == ("timeout", "The limit on processor time was reached.")


def test_a_sleeper_that_ignores_signals_ends(means: str) -> None:
    source = (
        "import signal, time\ndef solve():\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    time.sleep(1000)"
    )

    assert evaluate(means, source, Limits(wall_s=1)).outcome == "timeout"


@pytest.mark.parametrize(
    "bomb",
    ["b'x' * 4_000_000_000", "[0] * 1_000_000_000", "list(range(10**9))", "10 ** 10 ** 10", "'x' * 2_000_000_000"],
)
def test_a_memory_bomb_meets_the_limit(default_means: str, bomb: str) -> None:
    result = evaluate(
        default_means,
        f"def solve():\n    return len({bomb})" if "**" not in bomb else f"def solve():\n    return {bomb}",
        Limits(wall_s=2),
    )

    assert result.outcome in ("memory", "timeout", "crashed")
    assert result.value is None


def test_the_memory_limit_is_told(means: str) -> None:
    assert evaluate(means, "def solve():\n    return len(b'x' * 4_000_000_000)").outcome == "memory"


@pytest.mark.parametrize(
    "stream", ["print('x' * 1000)", "import sys; sys.stderr.write('x' * 1000)", "import os; os.write(1, b'x' * 1000)"]
)
def test_endless_output_is_cut(default_means: str, stream: str) -> None:
    result = evaluate(default_means, f"def solve():\n    while True:\n        {stream}", Limits(output_kb=64))

    assert result.outcome == "output"
    assert 0 < len(result.stdout) + len(result.stderr) <= 64 * 1024


def test_a_huge_value_is_refused(means: str) -> None:
    result = evaluate(means, "def solve():\n    return 'x' * 3_000_000")

    assert (result.outcome, result.value) == ("output", None)


def test_deep_recursion_is_an_error(means: str) -> None:
    result = evaluate(means, "def solve():\n    return solve()")

    assert result.outcome == "error"
    assert result.error.startswith("RecursionError")
    assert len(result.traceback) < 9000


def test_a_broken_stack_is_a_crash(default_means: str) -> None:
    source = """
import sys
class A:
    def __getattr__(self, name):
        return getattr(self, name + "x")
def solve():
    sys.setrecursionlimit(10**8)
    return A().a
"""
    assert evaluate(default_means, source, Limits(wall_s=10)).outcome in ("crashed", "memory", "timeout", "error")


def test_a_crash_of_the_interpreter_is_a_result(means: str) -> None:
    result = evaluate(means, "import ctypes\ndef solve():\n    print('before')\n    ctypes.string_at(0)")

    assert (result.outcome, result.stdout) == ("crashed", "before\n")
    assert "SIGSEGV" in result.error


@pytest.mark.skipif(not LINUX, reason="threads are counted in /proc")
def test_too_many_threads_end_it(default_means: str) -> None:
    source = """
import threading, time
def solve():
    threading.stack_size(65536)
    for _ in range(1000):
        try:
            threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        except RuntimeError:  # the memory limit came first
            break
    time.sleep(1000)
"""
    result = evaluate(default_means, source, Limits(wall_s=PATIENCE))

    assert (result.outcome, result.error) == ("crashed", "The limit on threads was reached.")


def test_files_are_limited_in_size_and_number(default_means: str) -> None:
    one = evaluate(default_means, "def solve():\n    open('f', 'wb').write(bytes(20_000_000))")
    many = """
def solve():
    for number in range(10**9):
        open(f"file{number % 5000}", "wb").write(bytes(1_000_000))
"""
    assert (one.outcome, evaluate(default_means, many, Limits(folder_mb=10)).error) == (
        "error",
        "The limit on files was reached.",
    )
    assert one.error.startswith("OSError")


def test_only_plain_files_can_be_made(default_means: str) -> None:
    source = """
import os
def solve():
    made = []
    for make in (lambda: os.mkdir("d"), lambda: os.mkfifo("p"), lambda: os.symlink("a", "l"), lambda: os.mknod("n")):
        try:
            make()
            made.append(make)
        except OSError:
            pass
    open("plain", "w").write("text")
    os.rename("plain", "other")
    return made, open("other").read(), os.listdir()
"""
    assert evaluate(default_means, source).value == "([], 'text', ['other'])"


@pytest.mark.skipif(not LINUX, reason="Linux lists the processes that one has begun")
def test_nothing_stays_behind(means: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sources = [
        "def solve():\n    open('f', 'w').write('x')\n    return 1",
        "import os\ndef solve():\n    os._exit(0)",
        "def solve():\n    while True: pass",
    ]
    before = _children(os.getpid())
    for source in sources:
        evaluate(means, source, Limits(wall_s=1))

    assert list(tmp_path.iterdir()) == []
    assert _children(os.getpid()) <= before


@pytest.mark.skipif(not LINUX, reason="Linux lists the processes that one has begun")
def test_a_cancelled_evaluation_leaves_no_process(default_means: str) -> None:
    async def cancelled() -> None:
        task = asyncio.create_task(Sandbox(default_means).evaluate("def solve():\n    while True: pass"))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    before = _children(os.getpid())
    run(cancelled())
    assert _children(os.getpid()) <= before


@pytest.mark.skipif(not LINUX, reason="the kernel kills the guest with its parent on Linux")
def test_the_guest_dies_with_a_killed_host(means: str, tmp_path: Path) -> None:
    """kill -9 of the host: the guest must not go on. The guest's own process id is read from the host's children."""
    source = f"""
import asyncio
from merrow_runtime.sandbox import Sandbox, Limits
asyncio.run(Sandbox({means!r}, Limits(wall_s=600)).evaluate("def solve():\\n    while True: pass"))
"""
    host = subprocess.Popen([sys.executable, "-c", source], env={**os.environ, "TMPDIR": str(tmp_path)})
    try:
        guests = _until(lambda: [pid for pid in _descendants(host.pid) if _locked(pid)])
    finally:
        host.kill()
        host.wait()

    assert _until(lambda: not any(Path(f"/proc/{pid}").exists() and _state(pid) != "Z" for pid in guests))


def _until(ask: object) -> list[int]:
    assert callable(ask)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = ask()
        if found:
            return found  # type: ignore[no-any-return]
        time.sleep(0.02)
    pytest.fail("it never happened")


def _children(pid: int) -> set[int]:
    """The processes that a process has begun and that are still there, ended ones that it has not waited for included."""
    tasks = Path(f"/proc/{pid}/task")
    return {int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()}


def _descendants(pid: int) -> list[int]:
    return [found for child in _children(pid) for found in (child, *_descendants(child))]


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def _locked(pid: int) -> bool:
    try:
        return "Seccomp:\t2" in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
