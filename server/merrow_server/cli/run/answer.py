"""``merrow answer``: a person's answer to a question of a run."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from merrow_server.cli import Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.given.values import read_value
from merrow_server.cli.options.common import with_options
from merrow_server.cli.options.running import RUN_OPTIONS
from merrow_server.errors import InputError
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo

if TYPE_CHECKING:
    from merrow_runtime.store.contract import AskRecord
    from merrow_runtime.store.database import Store

_LOOK = 0.1
"""Seconds between looks at whether the process that works on the run has seen the answer."""
_PATIENCE = 10.0
"""Seconds after which that is no longer waited for."""
_NOTE_ALONE = '--note goes with a VALUE; with --form, write the note as its field: \'{"note": "..."}\'.'

OFTEN = {
    "Answer": ("--note", "--form", "--decline", "--later"),
    "Model": ("--base-url", "--replay"),
    "Output": ("--json",),
}
"""The options that people use, by what they are for."""


@click.command(
    "answer",
    cls=Command,
    often=OFTEN,
    epilog="""
    merrow answer 4f2a APPROVE yes                 answer, and continue the run
    merrow answer flow.mmd APPROVE                 see the question and type the answer
    merrow answer 4f2a EDIT @letter.txt            with the text of a file
    merrow answer 4f2a TRIALS[2]/RATE 4            of one turn or item
    merrow answer 4f2a FORM --form '{"city": "Bern", "nights": 2}'
    merrow answer 4f2a APPROVE no --note 'Too long.'
    merrow answer 4f2a APPROVE no --later          leave it to merrow resume to continue
    merrow answer 4f2a APPROVE --decline
    """,
)
@click.argument("run", shell_complete=shell_completion.waiting_runs)
@click.argument("node", shell_complete=shell_completion.nodes_of_run)
@click.argument("value", required=False)
@click.option("--note", metavar="TEXT", help="A note beside VALUE, which the workflow can use; @FILE reads a file.")
@click.option("--form", metavar="JSON", help="The whole form as a JSON object: one field for each part of the answer.")
@click.option(
    "--decline", is_flag=True, help="Decline to answer: the node fails, and its `on_error` says what follows."
)
@click.option("--later", is_flag=True, help="Don't continue the run now.")
@with_options(RUN_OPTIONS)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    run: str,
    node: str,
    value: str | None,
    *,
    note: str | None,
    form: str | None,
    decline: bool,
    later: bool,
    **given: Any,
) -> None:
    """Answer the question that NODE of the run RUN asks, with VALUE; without it, on a terminal, you see the question first.
    VALUE is one of the words of a choice, yes or no, a number, or a text; @FILE reads a file.

    The first answer counts. If no process works on the run, it is continued here, so the exit code is that of
    `merrow resume`: 3 when it waits for another answer.
    """
    from merrow_runtime.people.answering import answer, question_at
    from merrow_runtime.store.database import Store
    from merrow_server.cli.given.inputs import can_ask
    from merrow_server.cli.given.run_names import run_meant
    from merrow_server.cli.kinds import door
    from merrow_server.cli.sessions.people import ask_one

    if sum((value is not None, form is not None, decline)) > 1:
        raise InputError("VALUE, --form and --decline exclude each other; give one of them.")
    if note is not None and value is None:
        raise InputError(_NOTE_ALONE)
    with closing(Store.open()) as store:
        identity = run_meant(store, run)
        ask = question_at(store, identity, node)
        name = ask.visit.name
        if value is not None:
            answer(store, identity, name, read_value(value), note=None if note is None else read_value(note))
        elif form is not None:
            answer(store, identity, name, _object(read_value(form)))
        elif decline:
            answer(store, identity, name, None)
        elif can_ask():
            if not ask_one(store, identity, ask):
                return
        else:
            raise InputError(f"VALUE is missing, the answer to {name}: merrow answer {identity} {name} VALUE")
        goes_on = not later and _is_left_to_us(store, identity, ask)
        if not given["as_json"]:
            done = "declined" if decline else "answered"
            echo(f"The question of {visible(name)} in run {identity} is {done}.", err=True)
        if not goes_on:
            return
        ctx.exit(door("run").resume(store, identity, {"verbose": False, **given}))


def _is_left_to_us(store: Store, run: str, ask: AskRecord) -> bool:
    """Whether no process works on the run. One that does sees the answer, unless it was about to end when that came."""
    end = time.monotonic() + _PATIENCE
    while store.is_worked_on(run):
        taken = any(
            call.kind == "person" and call.request_hash == ask.hash for call in store.calls(run, ask.visit.name)
        )
        if taken or time.monotonic() > end:
            return False
        time.sleep(_LOOK)
    return store.status(run) not in ("finished", "cancelled")


def _object(text: str) -> dict[str, Any]:
    """The fields that `--form` gives. Raises `InputError`."""
    try:
        form = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise InputError(f"--form is not JSON: {problem}") from None
    if not isinstance(form, dict):
        raise InputError(
            "--form must be a JSON object with a field for each part of the answer, such as '{\"answer\": true}'."
        )
    return form
