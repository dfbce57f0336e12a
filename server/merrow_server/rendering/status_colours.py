"""The colours of what runs, evaluations and searches come to, in lists on a terminal."""

from __future__ import annotations

COLOURS = {"finished": "green", "failed": "red", "cancelled": "yellow", "running": "cyan"}
