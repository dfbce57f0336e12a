"""``merrow fmt``: workflow files in one layout."""

from __future__ import annotations

from merrow_server.files import Target
from merrow_server.settings import Settings


def formatted(target: Target, text: str, settings: Settings) -> str:
    """The text of ``target`` in the layout of its settings; in Markdown, that of its mermaid blocks."""
    raise NotImplementedError
