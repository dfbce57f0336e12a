"""What a code action is, and what those who offer them are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from merrow_analysis.check import Analysis
from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.text import Range, TextEdit

QUICK_FIX = "quickfix"
EXTRACT_PROMPT = "refactor.extract.prompt"
INLINE_PROMPT = "refactor.inline.prompt"
MOVE_PARAMETERS = "refactor.move.parameters"
SPELLING = "refactor.rewrite.spelling"
AS_WORKFLOW = "refactor.rewrite.workflow"
INSERT_APPROVAL = "refactor.rewrite.approval"
BIND = "refactor.rewrite.tool"

Edits = tuple[TextEdit, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """Something that can be done to the text. ``edits`` works out how when it is wanted; None where it can't be done.

    ``diagnostic`` is what it repairs or, with ``suppresses``, suppresses; ``preferred`` marks its best remedy. With
    ``everywhere``, all findings of the diagnostic's rule are meant: what that changes is worked out by the caller, who can check
    the file again.
    """

    title: str
    kind: str
    edits: Callable[[], Edits | None]
    diagnostic: Diagnostic | None = None
    preferred: bool = False
    everywhere: bool = False
    suppresses: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """What actions are wanted for: a selection in an analysed text, and the findings that are meant."""

    analysis: Analysis
    range: Range
    diagnostics: tuple[Diagnostic, ...] = ()


Provider = Callable[[Request], Iterable[Action]]


def now(*edits: TextEdit) -> Callable[[], Edits]:
    """Edits that are known already."""
    return lambda: edits


def possible(title: str, kind: str, edits: Edits | None) -> Iterator[Action]:
    """The action that makes these edits: none where there are none, so that no title promises what the text has no place for."""
    if edits:
        yield Action(title, kind, now(*edits))
