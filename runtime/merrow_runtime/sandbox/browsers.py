"""The browser of this machine: its program, and how it is started with nothing of the user's and no network."""

from __future__ import annotations

import os
import shutil
import sys

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
OPTIONS = (
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
"""What keeps it to its page; who starts it names a folder for its profile."""


def browser_program() -> str | None:
    """The program of a Chromium, Chrome or Edge, or of what `MERROW_BROWSER` names; None where there is none."""
    wanted = os.environ.get(VARIABLE, "").strip()
    if wanted:
        return shutil.which(wanted)
    programs = (shutil.which(name) for name in (*_PROGRAMS, *_PLACES.get(sys.platform, ())))
    return next((program for program in programs if program is not None), None)


def without_own_sandbox() -> list[str]:
    """Chromium's own sandbox can't be set up by root, as in most containers."""
    return ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
