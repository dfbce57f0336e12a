"""What is offered at a place of a document: a fix, a refactoring, a repair, or the way to one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lsprotocol import types

QUICK_FIX = types.CodeActionKind.QuickFix.value
FIX_ALL = "source.fixAll.merrow"
REPAIR = f"{QUICK_FIX}.merrow.repair"


@dataclass(frozen=True, slots=True)
class Offer:
    """An action for one document: ``edits`` works out what it changes there, at once where it is ``ready``.

    ``sent`` is the client's diagnostic that it is about; ``move`` is the id of a safe mutation; ``command`` is what is
    executed in place of an edit, and ``change`` an edit of other files.
    """

    title: str
    kind: str
    edits: Callable[[], list[types.TextEdit] | None]
    ready: bool = False
    sent: types.Diagnostic | None = None
    preferred: bool = False
    move: str | None = None
    effect: str = ""
    command: types.Command | None = None
    change: types.WorkspaceEdit | None = None
    suppresses: bool = False
