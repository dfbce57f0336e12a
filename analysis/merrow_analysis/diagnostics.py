"""What Merrow says about a text: diagnostics, the places related to them, and fixes."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import NamedTuple

from merrow_analysis.text import Range, TextEdit


class Severity(Enum):
    """How bad it is. Only errors make a workflow invalid."""

    ERROR = "error"
    WARNING = "warning"
    HINT = "hint"


class Applicability(IntEnum):
    """Whether a fix may be applied without a look: ordered, so that "at least safe" is one comparison."""

    UNSAFE = 1
    SAFE = 2

    @property
    def label(self) -> str:
        return self.name.lower()


class Tag(Enum):
    """How an editor may draw the range."""

    UNNECESSARY = "unnecessary"
    DEPRECATED = "deprecated"


class Related(NamedTuple):
    """Another place that a diagnostic speaks of; ``file`` is None for the file checked, else a path as it was read."""

    range: Range
    message: str
    file: str | None = None


class Fix(NamedTuple):
    """A remedy: a title in the imperative and minimal edits of the file checked."""

    title: str
    edits: tuple[TextEdit, ...]
    applicability: Applicability = Applicability.SAFE


class Cause(NamedTuple):
    """Another finding, by its rule and place."""

    code: str
    range: Range


class Diagnostic(NamedTuple):
    """One finding. ``code`` and ``name`` are those of the rule that made it.

    ``because`` are findings each of which explains this one, so that it need not be told beside them; empty in what an
    analysis gives.
    """

    code: str
    name: str
    severity: Severity
    message: str
    range: Range
    related: tuple[Related, ...] = ()
    fixes: tuple[Fix, ...] = ()
    tags: tuple[Tag, ...] = ()
    because: tuple[Cause, ...] = ()
