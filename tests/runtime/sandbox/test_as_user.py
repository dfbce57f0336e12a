"""The tests of this folder once more, as a user without rights: root may do what a user may not, and the other way round.

The checkout and the interpreter may lie in folders that only root may enter, hence a copy of what the tests need, made of hard
links where the disk allows. What is chosen is what a user's rights bear upon: attacks, system calls, files, and what is left
behind; what a program prints, returns or raises is the same for everybody.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.sizes import ALL

ROOT = Path(__file__).resolve().parents[3]
NOBODY = 65534
CHOSEN = (
    *("test_an_attack_fails", "test_dangerous_system_calls", "test_no_way_to_hold", "test_ordinary_programs_remove"),
    *("test_no_call_takes", "test_an_honest_solution", "test_nothing_stays_behind", "test_the_turn_of_an_endless"),
)
# Of the interpreter: what neither the tests nor their programs import, and packages of other versions.
_LEFT_OUT = ("site-packages", "test", "tests", "idlelib", "lib2to3", "ensurepip", "turtledemo", "*.a")
_PACKAGES_LEFT_OUT = (
    "mypy*",
    "ruff*",
    "pip*",
    "*mypyc*",
    "grimp*",
    "openai*",
    "setuptools*",
    "*.pth",
    "librt*",
    "ast_serialize*",
)

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only on Linux is anybody else at hand"),
    pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="the tests run as a user already"),
]


def _take(source: str, target: str) -> None:
    """Link a file that everybody may read; copy one that not everybody may, or that lies on another disk."""
    mode = Path(source).stat().st_mode
    if mode & stat.S_IROTH:
        try:
            os.link(source, target)
        except OSError:
            shutil.copyfile(source, target)
            Path(target).chmod(mode | stat.S_IROTH)
    else:
        shutil.copyfile(source, target)
        Path(target).chmod(0o755 if mode & stat.S_IXUSR else 0o644)


def _copy(source: Path, target: Path, *left_out: str) -> None:
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(*left_out), copy_function=_take, dirs_exist_ok=True)


@pytest.fixture
def copy() -> Iterator[Path]:
    """Interpreter, packages, sources and tests where everybody may read them; not in /dev/shm, which bubblewrap hides."""
    with tempfile.TemporaryDirectory(prefix="user-", dir="/var/tmp") as place:
        folder = Path(place)
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        prefix = Path(sys.base_prefix)
        (folder / "python" / "bin").mkdir(parents=True)
        _take(os.path.realpath(sys.executable), str(folder / "python" / "bin" / version))
        _copy(prefix / "lib" / version, folder / "python" / "lib" / version, *_LEFT_OUT)
        for library in (prefix / "lib").glob("libpython*.so*"):
            _take(str(library.resolve()), str(folder / "python" / "lib" / library.name))
        _copy(Path(sysconfig.get_path("purelib")), folder / "packages", *_PACKAGES_LEFT_OUT)
        for package in ("analysis", "runtime"):
            name = f"merrow_{package}"
            _copy(ROOT / package / name, folder / "packages" / name, "__pycache__")
        _copy(ROOT / "tests" / "runtime" / "sandbox", folder / "work" / "tests" / "runtime" / "sandbox", "__pycache__")
        _take(str(ROOT / "tests" / "patience.py"), str(folder / "work" / "tests" / "patience.py"))
        for shared in ("conftest.py", "not_run.py", "postgres.py", "shared.py", "sizes.py"):
            _take(str(ROOT / "tests" / shared), str(folder / "work" / "tests" / shared))
        _take(str(ROOT / "pyproject.toml"), str(folder / "work" / "pyproject.toml"))
        (folder / "home" / "documents").mkdir(parents=True)
        for parent, _, _ in os.walk(folder):
            Path(parent).chmod(0o755)
        for owned in (folder / "home", folder / "home" / "documents"):
            os.chown(owned, NOBODY, NOBODY)
        yield folder


@pytest.mark.slow
def test_the_sandbox_holds_for_a_user_without_rights(copy: Path) -> None:
    python = copy / "python" / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    options = ["-q", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib", "-x"]
    options += ["-k", f"({' or '.join(CHOSEN)})" + ("" if ALL else " and not bubblewrap")]

    done = subprocess.run(
        [str(python), "-B", "-m", "pytest", *options, "tests/runtime/sandbox"],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        cwd=copy / "work",
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(copy / "home"),
            "TMPDIR": str(copy / "home"),
            "PYTHONPATH": str(copy / "packages"),
            # Where the interpreter's own library can't be read, another version's would be found.
            "LD_LIBRARY_PATH": str(copy / "python" / "lib"),
            "MERROW_TEST_ALL": "1",
            # These tests need no plugin, and compiling each of them takes time: the copy has no bytecode.
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert int(done.stdout.rpartition(" passed")[0].split()[-1]) >= 40
