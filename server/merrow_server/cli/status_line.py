"""What goes on, in one line on a terminal, with a spinner; elsewhere in a line a minute."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from merrow_server.cli.minutes import minutes
from merrow_server.cli.waiting import waiting_text
from merrow_server.rendering.snippet import visible


@contextmanager
def status_line() -> Iterator[Callable[[str | None], None]]:
    """Something to call with a text, which is shown from then on, or with None, which hides it. Where standard error is not a
    terminal, it is written once a minute. For code in an event loop.
    """
    if not sys.stderr.isatty():
        latest = ""

        def keep(text: str | None) -> None:
            nonlocal latest
            latest = text or ""

        with minutes(lambda: latest):
            yield keep
        return
    from rich.live import Live
    from rich.spinner import Spinner

    from merrow_server.rendering.terminal import console

    spinner = Spinner("dots", style="status.spinner")
    latest = ""

    def drawn() -> Spinner:
        spinner.update(text=", ".join(filter(None, (visible(latest), waiting_text()))))
        return spinner

    shown = Live(
        get_renderable=drawn,
        console=console(err=True),
        refresh_per_second=12.5,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )

    def say(text: str | None) -> None:
        nonlocal latest
        if text is None:
            shown.stop()
            return
        latest = text
        shown.start()

    try:
        yield say
    finally:
        shown.stop()
