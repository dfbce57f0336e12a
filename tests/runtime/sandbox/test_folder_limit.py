"""What a program can hold on disk is limited, whatever it does with names: a file without a name takes up as much as one with."""

from __future__ import annotations

import platform
import shutil
import sys
import tempfile
import threading
from textwrap import dedent

import pytest
from tests.runtime.sandbox.conftest import run

from merrow_runtime.sandbox import Limits, Sandbox, SandboxResult

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the attacks are Linux's"),
    pytest.mark.thinned(8, "sandbox"),
]
MIB = 2**20
LIMITS = Limits(folder_mb=16, file_mb=4, wall_s=30)
#: What a disk takes within the tenth of a second between two looks, at most.
SLACK_MIB = 1500

PRELUDE = '''
import ctypes, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
kept = []
def fill(name, size=4 * 2**20):
    file = open(name, "wb+")
    file.write(bytes(size))
    file.flush()
    return file
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
def hold(fd):
    """Map one page. Unlike Python's own mmap this keeps no descriptor, of which there are few."""
    if libc.mmap(None, 4096, 1, 1, fd, 0) == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")
def refused(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
'''
#: Each step holds 4 MiB more, or raises. `number` counts steps.
HOLDING: dict[str, str] = {
    "removed and mapped": """
        file = fill("f")
        hold(file.fileno())
        file.close()
        os.unlink("f")
        """,
    "removed by a system call and mapped": """
        file = fill(f"f{number}")
        hold(file.fileno())
        file.close()
        refused(libc.unlink(b"f%d" % number))
        """,
    "removed and open": """
        kept.append(fill("f"))
        os.remove("f")
        """,
    "removed while empty, then written": """
        kept.append(open("f", "wb+"))
        os.remove("f")
        kept[-1].write(bytes(4 * 2**20))
        kept[-1].flush()
        """,
    "replaced and mapped": """
        file = fill("new")
        hold(file.fileno())
        file.close()
        os.replace("new", "old")
        """,
    "replaced by a system call and mapped": """
        file = fill(f"f{number}")
        hold(file.fileno())
        file.close()
        refused(libc.rename(b"f%d" % number, b"old"))
        """,
    "without a name from the start": """
        fd = os.open(".", os.O_TMPFILE | os.O_RDWR)
        os.write(fd, bytes(4 * 2**20))
        hold(fd)
        os.close(fd)
        """,
    "under two names": """
        file = fill(f"f{number}")
        hold(file.fileno())
        file.close()
        refused(libc.link(b"f%d" % number, b"g%d" % number))
        refused(libc.unlink(b"f%d" % number))
        refused(libc.unlink(b"g%d" % number))
        """,
    "in memory only": """
        fd = os.memfd_create("m")
        os.write(fd, bytes(4 * 2**20))
        hold(fd)
        os.close(fd)
        """,
    "allocated beyond the end": """
        fd = os.open(f"f{number}", os.O_CREAT | os.O_RDWR)
        refused(libc.fallocate(fd, 1, ctypes.c_long(0), ctypes.c_long(4 * 2**20)))
        os.close(fd)
        """,
    "sparse": """
        with open(f"f{number}", "wb") as file:
            file.truncate(4 * 2**20)
        """,
    "written through a mapping": """
        with open(f"f{number}", "wb+") as file:
            file.truncate(4 * 2**20)
            with mmap.mmap(file.fileno(), 0) as place:
                place[:] = bytes(4 * 2**20)
        """,
    "empty files": """
        for index in range(1024):
            open(f"{number}-{index}", "x").close()
        """,
    "moved with the folder for removed files": """
        file = fill(f"f{number}")
        hold(file.fileno())
        file.close()
        os.rename(f"f{number}", f"../removed/g{number}")
        refused(libc.unlink(b"../removed/g%d" % number))
        """,
}


def evaluate(means: str, source: str, limits: Limits = LIMITS) -> SandboxResult:
    return run(Sandbox(means, limits).evaluate(source))


class FreeSpace:
    """The least space that was free on the disk of the temporary folder, against the space at the beginning."""

    def __enter__(self) -> FreeSpace:
        self._before = self._least = shutil.disk_usage(tempfile.gettempdir()).free
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def _look(self) -> None:
        while not self._over.wait(0.02):
            self._least = min(self._least, shutil.disk_usage(tempfile.gettempdir()).free)

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.held_mib = (self._before - self._least) // MIB


@pytest.mark.parametrize("way", HOLDING)
def test_no_way_to_hold_a_file_passes_the_limit_on_files(means: str, way: str) -> None:
    """2,000 steps would be 8 GiB: the program must be ended, or be refused a step, long before."""
    if means == "bubblewrap" and way in ("sparse", "empty files"):
        pytest.skip("its file system in memory counts pages: sparse files and names take none")
    step = "\n".join(f"        {line}" for line in dedent(HOLDING[way]).strip().splitlines())
    source = f"{PRELUDE}\ndef solve():\n    for number in range(2000):\n{step}\n    return 'held'\n"

    with FreeSpace() as space:
        result = evaluate(means, source)

    assert result.value is None
    # A page of a mapped file that has no place left is SIGBUS, hence the crash.
    assert result.error == "The limit on files was reached." or result.outcome in ("error", "crashed")
    assert space.held_mib < SLACK_MIB


def test_a_program_that_answers_at_once_does_not_pass_the_limit_either(means: str) -> None:
    source = (
        f"{PRELUDE}\ndef solve():\n    for number in range(8):\n        fill(str(number)).close()\n    return 'held'\n"
    )

    result = evaluate(means, source)

    assert result.value is None
    assert result.error == "The limit on files was reached." or result.outcome == "error"


@pytest.mark.parametrize("more", [0, 1])
def test_files_that_fill_the_folder_are_kept_and_one_more_empty_one_is_not(default_means: str, more: int) -> None:
    if default_means != "landlock":
        pytest.skip("its file system in memory counts pages: sparse files and names take none")
    source = f"""
def solve():
    for number in range(4):
        with open(str(number), "wb") as file:
            file.truncate(4 * 2**20)
    open("more", "wb").close() if {more} else None
    return "held"
"""

    result = evaluate(default_means, source)

    if more:
        assert (result.value, result.error) == (None, "The limit on files was reached.")
    else:
        assert (result.outcome, result.value) == ("ok", "held")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86_64")
def test_no_call_takes_a_files_last_name_away(default_means: str) -> None:
    """By construction: whatever is called, as many files as were made have a name when it is over."""
    source = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD = -100
def solve():
    for name in "abcdefgh":
        open(name, "w").close()
    inodes = {os.stat(name).st_ino for name in "abcdefgh"}
    calls = [(87, b"a"), (263, AT_FDCWD, b"a", 0), (82, b"a", b"b"), (264, AT_FDCWD, b"a", AT_FDCWD, b"b")]
    calls += [(316, AT_FDCWD, b"a", AT_FDCWD, b"b", flags) for flags in (0, 2, 4, 6)]
    calls += [(316, AT_FDCWD, b"a", AT_FDCWD, b"new", flags) for flags in (4, 5)]
    calls += [(2, b".", 0o20200002, 0o600), (257, AT_FDCWD, b".", 0o20200002, 0o600), (86, b"a", b"link")]
    done = [call for call in calls if libc.syscall(*call) >= 0]
    os.remove("c"); os.rename("d", "e"); os.replace("f", "g")
    left = {os.stat(os.path.join(place, name)).st_ino for place in (".", "../removed") for name in os.listdir(place)}
    return done, inodes - left, [name for name in os.listdir() if os.path.islink(name)]
"""
    if default_means != "landlock":
        pytest.skip("its file system in memory has a limit itself, also for files without a name")
    assert evaluate(default_means, source).value == "([], set(), [])"


def test_a_device_node_can_not_be_made_by_renaming(means: str) -> None:
    source = """
import ctypes, os, stat
def solve():
    open("a", "w").close()
    ctypes.CDLL(None).syscall({"x86_64": 316, "aarch64": 276}[os.uname().machine], -100, b"a", -100, b"b", 4)
    return [name for name in os.listdir() if not stat.S_ISREG(os.lstat(name).st_mode)]
"""
    assert evaluate(means, source).value == "[]"


ORDINARY: dict[str, tuple[str, str]] = {
    "a removed file is gone": (
        """
        open('a', 'w').close(); os.remove('a'); open('b', 'w').close(); os.unlink('b')
        return os.listdir(), os.path.exists('a')
        """,
        "([], False)",
    ),
    "a replaced file has the new content": (
        """
        open('a', 'w').write('old'); open('b', 'w').write('new'); os.replace('b', 'a'); os.rename('a', 'c')
        return os.listdir(), open('c').read()
        """,
        "(['c'], 'new')",
    ),
    "a file may be renamed to itself": (
        "open('a', 'w').write('x'); os.rename('a', 'a'); return open('a').read()",
        "x",
    ),
    "a removed file can still be read": (
        "f = open('a', 'w+'); f.write('x'); os.remove('a'); f.seek(0); return f.read()",
        "x",
    ),
    "names as bytes, as paths and below a descriptor": (
        """
        from pathlib import Path
        for name in 'abcd': open(name, 'w').close()
        folder = os.open('.', os.O_RDONLY)
        os.remove(b'a'); Path('b').unlink(); os.unlink('c', dir_fd=folder)
        os.rename('d', 'e', src_dir_fd=folder, dst_dir_fd=folder)
        Path('gone').unlink(missing_ok=True)
        return os.listdir()
        """,
        "['e']",
    ),
    "temporary files": (
        """
        import tempfile
        with tempfile.TemporaryFile('w+') as one, tempfile.NamedTemporaryFile('w+') as two:
            one.write('x'); two.write('y')
        with tempfile.SpooledTemporaryFile(max_size=1) as three: three.write(b'xxx')
        return os.listdir()
        """,
        "[]",
    ),
    "a file written again under its own name": (
        """
        for number in range(50):
            open('new', 'w').write(str(number)); os.replace('new', 'state')
        return os.listdir(), open('state').read()
        """,
        "(['state'], '49')",
    ),
    "moved and copied": (
        """
        import shutil
        open('a', 'w').write('x'); shutil.move('a', 'b'); shutil.copyfile('b', 'c')
        return sorted(os.listdir())
        """,
        "['b', 'c']",
    ),
    "what is not there": (
        """
        found = []
        for act in (lambda: os.remove('a'), lambda: os.rename('a', 'b'), lambda: os.replace('a', 'c')):
            open('c', 'w').write('kept')
            try: act()
            except FileNotFoundError as error: found.append((error.filename, error.filename2))
        return found, open('c').read()
        """,
        "([('a', None), ('a', 'b'), ('a', 'c')], 'kept')",
    ),
    "what is not allowed leaves the target": (
        """
        open('a', 'w').write('kept')
        try: os.rename('/etc/hostname', 'a')
        except OSError: return open('a').read()
        """,
        "kept",
    ),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_programs_remove_and_rename_their_own_files(means: str, name: str) -> None:
    body = "\n".join(f"    {line}" for line in dedent(ORDINARY[name][0]).strip().splitlines())

    assert evaluate(means, f"import os\ndef solve():\n{body}\n") == SandboxResult("ok", ORDINARY[name][1])


def test_removed_files_count_until_the_process_ends(default_means: str) -> None:
    """A program that goes on writing and removing meets the limit: nobody can tell whether it still holds what it removed."""
    if default_means != "landlock":
        pytest.skip("its file system in memory takes back what a removed file held")
    source = (
        "import os\ndef solve():\n    while True:\n        open('f', 'wb').write(bytes(2**20))\n        os.remove('f')"
    )

    assert evaluate(default_means, source).error == "The limit on files was reached."
