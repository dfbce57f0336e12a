"""Says that the journal is waited for, in whatever shows how far a command is: its server is away, or another program has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from merrow_runtime.store.sql import Absence, Interruption

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

_MOMENTS = 2.0
"""Seconds of waiting that nobody is told of."""


def waiting_text() -> str:
    """For how long the journal has been waited for, or that the command stops, which may have to wait, too; "" where nothing
    waits, or only for moments.
    """
    if Interruption.is_wanted:
        return "stopping"
    seconds = Absence.seconds()
    return f"waiting for the journal for {seconds:.0f} s" if seconds is not None and seconds >= _MOMENTS else ""


def waiting_column() -> ProgressColumn:
    """The same as a column of a bar. A thread draws it, so it goes on where the event loop waits, too."""
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class WaitingColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            del task
            return Text(waiting_text(), style="yellow")

    return WaitingColumn()
