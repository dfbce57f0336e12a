"""Whether a revision of a run is applied, asked on a terminal while the run goes on."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import TYPE_CHECKING

from merrow_runtime.errors import UsageFailure
from merrow_server.cli.texts.difference import difference_lines
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, style

if TYPE_CHECKING:
    from merrow_runtime.events import Event
    from merrow_runtime.running.run import Run

_ANSWERS = {"y": True, "yes": True, "apply": True, "n": False, "no": False, "refuse": False}


async def decide(run: Run, event: Event, *, asks: bool) -> None:
    """Apply or refuse the revision that ``event`` says waits for a person. Without ``asks`` it is refused: nobody is there."""
    if not asks:
        echo("Nobody can be asked here whether the revision is applied, so it is refused.", err=True)
    agreed = asks and await _asked(event)
    with contextlib.suppress(UsageFailure):  # The run has ended, or somebody else has decided.
        run.decide(event.data["revision"], apply=agreed)


async def _asked(event: Event) -> bool:
    from merrow_runtime.revising.difference import RevisionDifference

    if event.data.get("reason"):
        echo(f"The model says: {visible(str(event.data['reason']))}", err=True)
    for line in difference_lines(RevisionDifference.from_json(event.data.get("diff", {}))):
        echo(f"  {line}", err=True)
    while True:
        echo(style(f"Apply revision {event.data['revision']}? [y/n] ", bold=True), nl=False, err=True)
        typed = await _typed()
        if not typed:
            echo(err=True)
            return False
        answer = _ANSWERS.get(typed.strip().lower())
        if answer is not None:
            return answer


async def _typed() -> str:
    """A line that is typed, empty at the end of input, while the run goes on; nothing is read where that can't be."""
    loop, number = asyncio.get_running_loop(), sys.stdin.fileno()
    typed: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        if not typed.done():
            typed.set_result(sys.stdin.readline())

    try:
        loop.add_reader(number, read)
    except NotImplementedError:  # Windows has no readers in event loops.
        return await asyncio.to_thread(sys.stdin.readline)
    try:
        return await typed
    finally:
        loop.remove_reader(number)
