"""A target checked: its text analysed, block by block in Markdown, and all findings placed in the file itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from merrow_analysis.check import analyse
