"""A headless browser: found, started on one page with nothing of the user's and no network, and ended with all its processes."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from merrow_runtime.sandbox.browsers import OPTIONS, VARIABLE, browser_program, without_own_sandbox
from merrow_server.errors import InputError, RunFailure


def find_browser() -> str:
    """The program of a Chromium, Chrome or Edge. Raises `InputError` where there is none."""
    program = browser_program()
    if program is not None:
        return program
    wanted = os.environ.get(VARIABLE, "").strip()
    if wanted:
        raise InputError(f"{VARIABLE} names {wanted}, which is not a program that can be started.")
    raise InputError(
        f"Drawing needs Chromium, Chrome or Edge, and none was found; install one, or set {VARIABLE} to its program."
    )


def page_after_loading(page: str, seconds: float) -> str:
    """What a page of HTML has become once its scripts have nothing more to do. Raises `RunFailure`, also after ``seconds``."""
    browser = find_browser()
    folder = Path(tempfile.mkdtemp(prefix="merrow-render-"))
    try:
        file = folder / "page.html"
        file.write_text(page, "utf-8")
        command = [
            browser,
            *OPTIONS,
            *without_own_sandbox(),
            f"--user-data-dir={folder / 'profile'}",
            f"--virtual-time-budget={int(seconds * 1000)}",
            "--dump-dom",
            file.as_uri(),
        ]
        return _output(command, folder, seconds)
    finally:
        # The last processes may still write into it.
        for _ in range(20):
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break


def _output(command: list[str], folder: Path, seconds: float) -> str:
    """What a program prints, whose processes are all gone when this returns."""
    name = Path(command[0]).name
    with (folder / "out").open("wb") as out, (folder / "problems").open("wb") as problems:
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's browser, found by name
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=problems,
                start_new_session=True,
                env={**os.environ, "HOME": str(folder)},
            )
        except OSError as problem:
            raise RunFailure(f"{name} can't be started: {problem.strerror}.") from None
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise RunFailure(
                f"Drawing took longer than {seconds:g} seconds and was ended; --timeout allows more."
            ) from None
        finally:
            _end(process)
    if code:
        output = (folder / "problems").read_text("utf-8", "replace").strip().splitlines()
        raise RunFailure(f"{name} ended with code {code}: {output[-1] if output else 'it said nothing'}")
    return (folder / "out").read_text("utf-8", "replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    if not hasattr(os, "killpg"):
        process.kill()
        process.wait()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        # Its children are not ours to wait for, and die a moment after the signal.
        for _ in range(50):
            os.killpg(process.pid, 0)
            time.sleep(0.01)
    process.wait()
