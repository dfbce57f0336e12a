"""A headless browser: found, started on one page with nothing of the user's and no network, and ended with all its processes."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from merrow_server.errors import InputError, RunFailure

VARIABLE = "MERROW_BROWSER"
"""The environment variable that names the browser."""
_PROGRAMS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "microsoft-edge-stable",
    "msedge",
)
_PLACES = {
    "darwin": (
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
        "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    ),
    "win32": (
        r"C:\Program Files\Google\Chrome\Application\chrome.exe",
        r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
    ),
}
_OPTIONS = (
    "--headless",
    "--disable-gpu",
    "--disable-extensions",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-crash-reporter",
    "--disable-breakpad",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--mute-audio",
    # No name and no address leads anywhere.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
)


def find_browser() -> str:
    """The program of a Chromium, Chrome or Edge. Raises `InputError` where there is none."""
    wanted = os.environ.get(VARIABLE, "").strip()
    if wanted:
        found = shutil.which(wanted)
        if found is None:
            raise InputError(f"{VARIABLE} names {wanted}, which is not a program that can be started.")
        return found
    for name in (*_PROGRAMS, *_PLACES.get(sys.platform, ())):
        found = shutil.which(name)
        if found is not None:
            return found
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
            *_OPTIONS,
            # Chromium's own sandbox can't be set up by root, as in most containers.
            *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
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
        said = (folder / "problems").read_text("utf-8", "replace").strip().splitlines()
        raise RunFailure(f"{name} ended with code {code}: {said[-1] if said else 'it said nothing'}")
    return (folder / "out").read_text("utf-8", "replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
