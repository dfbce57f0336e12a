"""The browser of the user's desktop, where there is one."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser


def has_desktop() -> bool:
    """Whether a browser with a window can be opened here."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def open_in_browser(address: str) -> None:
    """Open an address in the user's browser; whether that can be done is the browser's affair, and nobody waits for it."""
    threading.Thread(target=webbrowser.open, args=(address,), name="merrow-browser", daemon=True).start()
