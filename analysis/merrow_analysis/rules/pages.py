"""The page of each rule: Markdown, packaged beside the code, shown by ``merrow explain`` and run as a test."""

from __future__ import annotations

import re
from importlib.resources import files

_FOLDER = "pages"
_EXPECTED = re.compile(r"(?m)^[ \t]*%% expect: .*\n")


def page_text(code: str) -> str | None:
    """The Markdown page of the rule with this code, or None where there is none."""
    page = files("merrow_analysis.rules").joinpath(_FOLDER, f"{code}.md")
    return page.read_text("utf-8") if page.is_file() else None


def shown_page(code: str) -> str | None:
    """The same as users read it: without the comments that say what is expected of an example."""
    text = page_text(code)
    return None if text is None else _EXPECTED.sub("", text)


def page_codes() -> list[str]:
    """The codes that have a page, in order."""
    folder = files("merrow_analysis.rules").joinpath(_FOLDER)
    if not folder.is_dir():
        return []
    return sorted(entry.name.removesuffix(".md") for entry in folder.iterdir() if entry.name.endswith(".md"))
