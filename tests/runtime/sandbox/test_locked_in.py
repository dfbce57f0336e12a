"""What holds a guest in, step by step, as the kernel shows it of a guest that runs and of a process that locked itself in."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import os
import struct
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.runtime.sandbox.conftest import USABLE, run

from merrow_runtime.sandbox import Limits, Sandbox
from merrow_runtime.sandbox.guest import lock, seccomp

pytestmark = pytest.mark.skipif(not USABLE["landlock"].usable, reason="these steps are Linux's")

LIMITS = Limits(cpu_s=7, memory_mb=300, file_mb=3, open_files=33)
SHOWN = """
import ctypes, os, resource
def descriptors():
    for number in range(33):
        try:
            os.fstat(number)
        except OSError:
            continue
        yield number
def solve():
    mask = os.umask(0)
    names = ("AS", "FSIZE", "NOFILE", "CORE", "MEMLOCK", "MSGQUEUE", "CPU")
    limits = {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}")) for name in names}
    is_dumpable = ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)
    return oct(mask), limits, is_dumpable, [*descriptors()]
"""
MIB = 2**20


def test_a_guest_has_its_limits_and_nothing_open_but_its_channel() -> None:
    shown = run(Sandbox("landlock", LIMITS).evaluate(SHOWN))
    limits = {
        "AS": (300 * MIB, 300 * MIB),
        "FSIZE": (3 * MIB, 3 * MIB),
        "NOFILE": (33, 33),
        "CORE": (0, 0),
        "MEMLOCK": (0, 0),
        "MSGQUEUE": (0, 0),
        # At the first it is told, at the second killed.
        "CPU": (7, 8),
    }
    assert shown.value == repr(("0o77", limits, 0, [0, 1, 2, 3])), shown


def test_a_guest_has_no_capability_no_way_to_get_one_and_goes_first_when_memory_runs_out() -> None:
    status = run(_of_a_running_guest())
    # As root it keeps the right to read what others own (bit 2), within Landlock.
    kept = f"{4 if os.geteuid() == 0 else 0:016x}"
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert (status["CapEff"], status["CapPrm"], status["CapInh"], status["CapAmb"]) == (kept, kept, "0" * 16, "0" * 16)
    if os.geteuid() == 0:
        assert status["CapBnd"] == "0" * 16
    assert status["oom_score_adj"] == "1000"


async def _of_a_running_guest() -> dict[str, str]:
    """What the kernel says of a guest while it runs."""
    task = asyncio.create_task(Sandbox("landlock").evaluate("import time\ndef solve():\n    time.sleep(1000)"))
    end = time.monotonic() + PATIENCE
    try:
        while time.monotonic() < end and not task.done():
            for child in Path(f"/proc/{os.getpid()}/task").glob("*/children"):
                for pid in child.read_text().split():
                    with contextlib.suppress(OSError):
                        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
                        status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
                        if status.get("Seccomp") == "2":
                            return status | {
                                "oom_score_adj": Path(f"/proc/{pid}/oom_score_adj").read_text().strip(),
                            }
            await asyncio.sleep(0.01)
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    pytest.fail("no guest has locked itself in")


def locking(steps: str, **values: Any) -> subprocess.CompletedProcess[str]:
    """A process of its own that locks itself in as these steps say and then tells what it can do."""
    before = "import ctypes, os, sys\nfrom merrow_runtime.sandbox.guest import lock\n"
    code = before + "".join(f"{name} = {value!r}\n" for name, value in values.items()) + steps
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=False)


def test_who_was_started_by_another_than_the_host_ends_at_once() -> None:
    own = locking("lock.die_with(parent)\nprint('lives')", parent=os.getpid())
    assert (own.returncode, own.stdout, own.stderr) == (0, "lives\n", "")
    other = locking("lock.die_with(parent)\nprint('lives')", parent=os.getpid() + 1)
    assert (other.returncode, other.stdout, other.stderr) == (1, "", "")


CAPABILITIES = """
def capabilities():
    lines = open("/proc/self/status").read().splitlines()
    return [line.split()[1] for line in lines if line.startswith(("CapPrm", "CapEff"))]
def keep(kept):
    import struct
    number = {"x86_64": 126, "aarch64": 91}[os.uname().machine]
    data = struct.pack("<6I", kept, kept, 0, 0, 0, 0)
    assert ctypes.CDLL(None).syscall(number, struct.pack("<Ii", 0x20080522, 0), data) == 0
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root has capabilities to lose")
@pytest.mark.parametrize(("had", "left"), [(4, 4), (4 | 1, 4), (1, 0), (0, 0)])
def test_root_keeps_the_right_to_read_where_it_has_it(had: int, left: int) -> None:
    done = locking(f"{CAPABILITIES}\nkeep(had)\nlock.drop_capabilities()\nprint(*capabilities())", had=had)
    assert (done.stdout, done.stderr) == (f"{left:016x} {left:016x}\n", "")


FILES = """
lock._checked(ctypes.CDLL(None).prctl(38, 1, 0, 0, 0), "no new privileges")
lock.landlock([f"{top}/readable", f"{top}/file", f"{top}/absent"], [f"{top}/listable"], [f"{top}/writable", f"{top}/other"])
def can(name, act):
    try:
        act()
    except OSError as error:
        return
    print(name)
can("read beneath", lambda: open(f"{top}/readable/a").read())
can("list beneath", lambda: os.listdir(f"{top}/readable"))
can("read", lambda: open(f"{top}/file").read())
can("write a readable file", lambda: open(f"{top}/file", "r+"))
can("truncate a readable file", lambda: os.truncate(f"{top}/file", 0))
can("make beneath", lambda: open(f"{top}/readable/b", "w"))
can("remove beneath", lambda: os.remove(f"{top}/readable/a"))
can("list", lambda: os.listdir(f"{top}/listable"))
can("read a listed file", lambda: open(f"{top}/listable/a").read())
can("write", lambda: open(f"{top}/writable/a", "r+").write("b"))
can("truncate", lambda: os.truncate(f"{top}/writable/a", 0))
can("make", lambda: open(f"{top}/writable/b", "w").write("b"))
can("move within", lambda: os.rename(f"{top}/writable/b", f"{top}/writable/c"))
can("move to the other", lambda: os.rename(f"{top}/writable/c", f"{top}/other/c"))
can("remove", lambda: os.remove(f"{top}/other/c"))
can("make a folder", lambda: os.mkdir(f"{top}/writable/folder"))
can("make a link", lambda: os.symlink("a", f"{top}/writable/link"))
can("make a pipe", lambda: os.mkfifo(f"{top}/writable/pipe"))
can("remove a folder", lambda: os.rmdir(f"{top}/writable/empty"))
can("move out", lambda: os.rename(f"{top}/writable/a", f"{top}/a"))
can("list the rest", lambda: os.listdir(top))
can("read the rest", lambda: open(f"{top}/secret").read())
can("write to nothing", lambda: open("/dev/null", "w").write("x"))
can("read nothing", lambda: open("/dev/null").read())
can("read a device", lambda: open("/dev/zero", "rb").read(1))
can("execute", lambda: os.execv("/bin/true", ["true"]))
print(*[number for number in range(3, 33) if _is_open(number)])
"""
IS_OPEN = """
def _is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
"""
ALLOWED = """\
read beneath
list beneath
read
list
write
truncate
make
move within
move to the other
remove
write to nothing
read nothing

"""


def test_landlock_allows_what_is_named_and_nothing_else(tmp_path: Path) -> None:
    for folder in ("readable", "listable", "writable", "other", "writable/empty"):
        (tmp_path / folder).mkdir()
    for file in ("file", "secret", "readable/a", "listable/a", "writable/a"):
        (tmp_path / file).write_text("text")
    done = locking(IS_OPEN + FILES, top=str(tmp_path))
    if lock.landlock_version() < 3:
        pytest.skip("this kernel's Landlock knows neither moving nor truncating")
    assert (done.stdout, done.stderr) == (ALLOWED, "")


class Kernel:
    """Takes the calls with which a guest locks itself in, and refuses some of them with an error's number."""

    def __init__(self, refused: dict[int, int] | None = None) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self._refused = refused or {}

    def _take(self, number: int, *arguments: Any) -> int:
        self.asked.append((number, *arguments))
        if number not in self._refused:
            return 0
        ctypes.set_errno(self._refused[number])
        return -1

    prctl = syscall = _take


HEADER = struct.pack("<Ii", 0x20080522, 0)
"""Of the third version of capabilities, for this very thread."""
DROP, CAPSET, CAPSET_ARM = 24, 126, 91
DROPS = [(DROP, capability, 0, 0, 0) for capability in range(64)]


def setting(number: int, kept: int) -> tuple[Any, ...]:
    return (number, HEADER, struct.pack("<6I", kept, kept, 0, 0, 0, 0))


@pytest.mark.parametrize(
    ("machine", "user", "refused", "asked"),
    [
        ("x86_64", 0, {}, [*DROPS, setting(CAPSET, 4)]),
        ("aarch64", 0, {}, [*DROPS, setting(CAPSET_ARM, 4)]),
        ("x86_64", 1000, {}, [setting(CAPSET, 0)]),
        # A capability that this kernel doesn't know is passed over; who may drop none tries no other.
        ("x86_64", 0, {DROP: errno.EINVAL}, [*DROPS, setting(CAPSET, 4)]),
        ("x86_64", 0, {DROP: errno.EPERM}, [DROPS[0], setting(CAPSET, 4)]),
    ],
)
def test_capabilities_are_dropped_as_the_kernel_asks(
    machine: str, user: int, refused: dict[int, int], asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = Kernel(refused)
    monkeypatch.setattr(lock, "_library", lambda: kernel)
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine=machine))
    monkeypatch.setattr(os, "geteuid", lambda: user)
    lock.drop_capabilities()
    assert kernel.asked == asked


def test_a_step_that_the_kernel_refuses_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel({CAPSET: errno.EPERM, CAPSET_ARM: errno.EPERM, 1: errno.EINVAL, 22: errno.EACCES})
    monkeypatch.setattr(lock, "_library", lambda: kernel)
    with pytest.raises(OSError, match=r"\[Errno 1\] capset: Operation not permitted"):
        lock.drop_capabilities()
    with pytest.raises(OSError, match=r"\[Errno 22\] prctl\(PR_SET_PDEATHSIG\): Invalid argument"):
        lock.die_with(os.getppid())
    with pytest.raises(OSError, match=r"\[Errno 13\] prctl\(PR_SET_SECCOMP\): Permission denied"):
        lock.filter_calls(keep_files=False)
    length, address = struct.unpack("@HP", kernel.asked[-1][2])
    program = seccomp.program(os.uname().machine, os.getpid(), keep_files=False)
    assert (length * 8, address != 0) == (len(program), True)
    # 9: it is killed when its parent ends; 2: a filter.
    assert kernel.asked[-2] == (1, 9, 0, 0, 0)
    assert (kernel.asked[-1][:2], kernel.asked[-1][3:]) == ((22, 2), (0, 0))


def test_a_limit_that_can_not_be_set_ends_all_on_linux() -> None:
    limits = {"memory": 2**34, "file": 2**20, "open_files": 2**40, "cpu": 5}
    done = locking("lock.limit(limits)\nprint('lives')", limits=limits)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1].startswith("ValueError")
