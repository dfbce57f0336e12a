"""Programs of the machine in a folder of their own: what they reach, what ends them, and that nothing of them stays."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.patience import PATIENCE

from merrow_runtime.sandbox.backends.bubblewrap import Bubblewrap
from merrow_runtime.sandbox.programs import SUPPORTED, ProgramEndedError, ProgramLimits, SandboxProgram, environment_in

pytestmark = pytest.mark.skipif(not SUPPORTED, reason="programs are limited on POSIX systems alone")


def program(wall_s: float = 20, cpu_s: int = 10, file_mb: int = 2, folder_mb: int = 8) -> SandboxProgram:
    return SandboxProgram(ProgramLimits(wall_s, cpu_s, file_mb, folder_mb))


@pytest.fixture(params=["confined", "limits alone"])
def means(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With bubblewrap, and as on a machine without it."""
    if request.param == "confined":
        if not Bubblewrap().status().usable:
            pytest.skip("bubblewrap can't be used here")
    else:
        found = shutil.which
        monkeypatch.setattr(shutil, "which", lambda name, **more: None if name == "bwrap" else found(name, **more))
    return str(request.param)


def sh(script: str, limits: SandboxProgram) -> tuple[int, dict[str, bytes]]:
    """A shell's exit code, and the files that it left."""
    with limits as running:
        code = running.run(["sh", "-c", script], environment_in(running.folder))
        return code, {path.name: path.read_bytes() for path in running.folder.iterdir() if path.is_file()}


@pytest.mark.usefixtures("means")
def test_a_program_writes_into_its_folder_and_nothing_stays() -> None:
    running = program()
    code, files = sh('echo "$HOME" > home; pwd > here; exit 3', running)
    assert (code, files["home"]) == (3, files["here"])
    assert files["here"].decode().strip() == str(running.folder)
    assert not running.folder.exists()


@pytest.mark.usefixtures("means")
def test_nothing_of_the_users_environment_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    _, files = sh("env > all; tr '\\0' '\\n' < /proc/self/environ >> all", program())
    assert b"sk-secret" not in files["all"]


def test_confined_programs_see_nothing_of_the_user_and_no_network(tmp_path: Path) -> None:
    if not Bubblewrap().status().usable:
        pytest.skip("bubblewrap can't be used here")
    secret = tmp_path / "secret"
    secret.write_text("secret", "utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = (
            f"cat {secret} {Path(__file__)} /etc/passwd > read 2>/dev/null; touch {tmp_path}/mine /usr/mine 2>/dev/null;"
            f"{sys.executable if sys.executable.startswith('/usr') else 'python3'} -c "
            f"'import socket; socket.create_connection((\"127.0.0.1\", {port}), 2)' 2>/dev/null && echo reached > network; true"
        )
        code, files = sh(script, program())
    assert (code, files["read"], "network" in files) == (0, b"", False)
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


@pytest.mark.parametrize(
    ("script", "seconds", "why"),
    [
        ("sleep 1000", 2, "it did not end within 2 s"),
        ("while true; do :; done", 2, "it did not end within 2 s"),
        (
            "for n in 1 2 3 4 5 6 7; do head -c 2000000 /dev/zero > file$n; done; sleep 1000",
            PATIENCE,
            "it wrote too much",
        ),
    ],
)
@pytest.mark.usefixtures("means")
@pytest.mark.thinned(24)
def test_what_takes_too_much_is_ended(script: str, seconds: float, why: str) -> None:
    running = program(wall_s=seconds)
    started = time.monotonic()
    with pytest.raises(ProgramEndedError, match=why):
        sh(script, running)
    assert time.monotonic() - started < 600
    assert not running.folder.exists()


@pytest.mark.usefixtures("means")
def test_no_file_gets_larger_than_its_limit() -> None:
    code, files = sh("trap '' XFSZ; head -c 9000000 /dev/zero > big; exit 5", program())
    assert (code, len(files["big"])) == (5, 2 * 1024 * 1024)


@pytest.mark.parametrize(("more", "code"), [(0, 0), (1, 9)])
@pytest.mark.usefixtures("means")
def test_a_file_has_64_mib_where_nobody_says_it(more: int, code: int) -> None:
    running = SandboxProgram(ProgramLimits(wall_s=20, cpu_s=10))
    script = f"trap '' XFSZ; truncate -s {64 * 2**20 + more} big || exit 9"  # sparse, and so made at once
    with running:
        assert running.run(["sh", "-c", script], environment_in(running.folder)) == code


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.usefixtures("means")
def test_all_files_have_128_mib_where_nobody_says_it(more: int) -> None:
    script = f"for name in one two; do truncate -s {64 * 2**20} $name; done; head -c {more} /dev/zero > three"
    running = SandboxProgram(ProgramLimits(wall_s=20, cpu_s=10))
    wrong = pytest.raises(ProgramEndedError, match="it wrote too much") if more else contextlib.nullcontext()
    with running, wrong:
        assert running.run(["sh", "-c", script], environment_in(running.folder)) == 0


@pytest.mark.slow
@pytest.mark.usefixtures("means")
def test_processes_that_it_started_end_with_it(tmp_path: Path) -> None:
    mark = f"1{os.getpid()}{time.monotonic_ns() % 1000000}"
    with pytest.raises(ProgramEndedError):
        sh(f"sleep {mark} & sleep {mark}", program(wall_s=1))
    end = time.monotonic() + PATIENCE
    while left := [path for path in Path("/proc").glob("[0-9]*/cmdline") if mark.encode() in _said(path)]:
        assert time.monotonic() < end, left
        time.sleep(0.02)


def _said(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_another_thread_can_end_it_and_nothing_starts_afterwards() -> None:
    running = program(wall_s=1000)

    def end() -> None:
        while not (running.folder / "begun").exists():
            time.sleep(0.02)
        running.end()

    with running:
        threading.Thread(target=end).start()
        assert running.run(["sh", "-c", "touch begun; sleep 1000"], environment_in(running.folder)) != 0
        with pytest.raises(ProgramEndedError, match="it was ended"):
            running.run(["true"], environment_in(running.folder))
