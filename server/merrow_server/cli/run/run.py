"""``merrow run``: a workflow run from the command line."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from merrow_server.cli import Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.given.run_names import latest_of
from merrow_server.cli.given.values import read_values
from merrow_server.cli.options.common import with_options
from merrow_server.cli.options.masking import MASK_OPTIONS
from merrow_server.cli.options.refining import REFINE_OPTIONS, refine_given
from merrow_server.cli.options.running import RUN_OPTIONS, process_options
from merrow_server.errors import InputError
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, emit, style

if TYPE_CHECKING:
    from merrow_runtime import Run, RunOptions
    from merrow_runtime.provenance import Reuse

_LATEST = "\0latest"
"""What ``--run`` stands for alone; no run has such an id."""


OFTEN = {
    "Input and output": ("--input", "--output"),
    "Model": ("--model", "--base-url", "--replay"),
    "Cost": ("--dry-run", "--budget-usd"),
    "Again": ("--from", "--run", "--only"),
}
"""The options that people use, by what they are for."""


@click.command(
    "run",
    cls=Command,
    often=OFTEN,
    epilog="""
    merrow run flow.mmd --input problem="What is 6 times 7?"
    merrow run flow.mmd --input problem=@task.txt --model gpt-4o
    merrow run flow.mmd --refine --refine-every 5              a model changes it while it runs
    merrow run flow.mmd --mask 0.2 --refine                    with results that get lost
    merrow run flow.mmd -o site                                write what it makes into the folder site
    merrow run flow.mmd --dry-run                              what it would ask and cost
    merrow run flow.mmd --from VOTE                            VOTE and what follows again, the rest as it was
    merrow run flow.mmd --set-output CHECK=no --run            the latest run again, had CHECK said no
    merrow run flow.mmd --only VOTE --run                      one node, with the inputs it had in the latest run
    merrow run flow.mmd --only VOTE --run 4f2a                 the same, of a run by the beginning of its id
    """,
)
@click.argument("file", metavar="FILE", shell_complete=shell_completion.files)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=shell_completion.inputs,
    help="An input's value; NAME=@file reads a file.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be asked and what it may cost; call nothing.")
@click.option(
    "--model", metavar="MODEL", help="Use this model instead of the workflow's; nodes that name a model keep it."
)
@click.option(
    "--from",
    "from_node",
    metavar="NODE",
    shell_complete=shell_completion.nodes,
    help="Run NODE and everything after it again; reuse the rest from --run, or from the latest run of FILE.",
)
@click.option(
    "--run",
    "from_run",
    metavar="[RUN]",
    is_flag=False,
    flag_value=_LATEST,
    shell_complete=shell_completion.runs,
    help="The run to reuse results from; without RUN, the latest of FILE.",
)
@click.option("--only", metavar="NODE", shell_complete=shell_completion.nodes, help="Run this node alone.")
@click.option(
    "--set",
    "set_values",
    multiple=True,
    metavar="NODE.PORT=VALUE",
    shell_complete=shell_completion.ports,
    help="The value that arrives at a port (with --only).",
)
@click.option(
    "--set-output",
    "set_outputs",
    multiple=True,
    metavar="NODE[.PORT]=VALUE",
    shell_complete=shell_completion.ports,
    help="Use VALUE as a node's output instead of running it; for a Decision, the case to take.",
)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    shell_complete=shell_completion.files,
    help="Write the outputs into this new folder: the files that they name, otherwise one file for each output.",
)
@click.option("--fresh", is_flag=True, help="Don't use cached answers.")
@click.option("--no-store", is_flag=True, help="Save nothing: no journal, no cache. For private inputs.")
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed for shuffles and --mask.")
@click.option("--verbose", is_flag=True, help="Show answers as they arrive.")
@click.option("--no-discovery", is_flag=True, help="Don't look for model servers on this machine.")
@with_options(REFINE_OPTIONS)
@with_options(MASK_OPTIONS)
@with_options(RUN_OPTIONS)
@click.pass_context
def command(ctx: click.Context, /, file: str, **given: Any) -> None:
    """Run the workflow in FILE (FILE.md#2: its second block) and print what reaches its outputs.

    Any flowchart runs: one that names no operators is read as a workflow in which each box is a model call,
    and a note says so.

    Every finished call is in the journal before its result is used, so `merrow resume` continues a run that
    stopped for any reason. Without OPENAI_API_KEY, OPENAI_BASE_URL or --base-url the embedded offline model
    answers, which costs nothing and is not a real model; model servers on this machine are looked for then,
    and you are told how to use them. On a terminal you are asked for inputs that have no value.

    The exit code is 1 when the run fails, and with --fail-on-exhausted also when a Loop was stopped.
    """
    from merrow_runtime import RunOptions, Store

    from_run = given["from_run"]
    if from_run == _LATEST or (from_run is None and given["from_node"] is not None):
        with closing(Store.open()) as store:
            from_run = latest_of(store, file)
    inputs = read_values(given["inputs"], "--input")
    options = RunOptions(
        model=given["model"],
        from_node=given["from_node"],
        from_run=from_run,
        only=given["only"],
        set_values=read_values(given["set_values"], "--set"),
        set_outputs=read_values(given["set_outputs"], "--set-output"),
        fresh=given["fresh"],
        no_store=given["no_store"],
        seed=given["seed"],
        refine=refine_given(given),
        mask=given["mask"],
        mask_only=given["mask_only"],
        mask_every=given["mask_every"],
        stream=given["verbose"] or given["as_json"],
        **process_options(given),
    )
    if given["record"] is not None and given["record"] == given["replay"]:
        raise InputError("--record and --replay can't name the same file.")
    if given["dry_run"]:
        _dry_run(file, inputs, options, as_json=given["as_json"])
        return
    from merrow_optimizer.revising.late import LateReviser
    from merrow_runtime import resume, start
    from merrow_runtime.program.inputs import MissingInputs
    from merrow_runtime.store.memory import MemoryStore
    from merrow_server.cli.given.inputs import ask_for, can_ask
    from merrow_server.cli.sessions.run import watch

    if not given["no_discovery"] and not given["as_json"] and can_ask():
        _offer_models(file, options)
    folder = None if given["output"] is None else Path(given["output"])
    if folder is not None:
        from merrow_server.output_files import check_folder

        check_folder(folder)

    # What is not stored is with this process: only a person at the terminal can be asked.
    memory = MemoryStore() if given["no_store"] and can_ask() and not given["as_json"] else None

    def go_on(run: str, reuse: Reuse | None) -> Run:
        own = replace(options, reuse=reuse or options.reuse)
        return resume(run, options=own, reviser=LateReviser(), store=memory)

    def watched() -> int:
        return watch(
            lambda reuse: start(
                file,
                inputs,
                options=replace(options, reuse=reuse or options.reuse),
                reviser=LateReviser(),
                store=memory,
            ),
            as_json=given["as_json"],
            verbose=given["verbose"],
            kept=not given["no_store"],
            folder=folder,
            fail_on_exhausted=given["fail_on_exhausted"],
            go_on=go_on,
            store=memory,
        )

    try:
        code = watched()
    except MissingInputs as request:
        if given["as_json"] or not can_ask():
            raise
        inputs.update(ask_for(request))
        code = watched()
    ctx.exit(code)


def _offer_models(file: str, options: RunOptions) -> None:
    """Where nothing says which endpoint to use and a model is asked, tell of the model servers on this machine; none is used."""
    import os

    from merrow_runtime.models.selection import ModelOptions, decide
    from merrow_runtime.models.user_settings import read_user_settings
    from merrow_runtime.program.definitions import asks_models
    from merrow_runtime.program.loading import load

    if options.replay is not None:
        return
    is_open = decide(ModelOptions(base_url=options.base_url), os.environ, read_user_settings()).source == "nothing"
    if is_open and (options.refine is not None or asks_models(load(file), options)):
        from merrow_server.choosing_models import offers

        for offer in offers():
            echo(f"{style('Note:', fg='yellow')} {visible(offer.sentence)}", err=True)


def _dry_run(file: str, inputs: dict[str, str], options: Any, *, as_json: bool) -> None:
    import os

    from merrow_runtime import dry_run
    from merrow_runtime.models.selection import ModelOptions, decide
    from merrow_runtime.models.user_settings import read_user_settings
    from merrow_runtime.program.loading import load
    from merrow_server.choosing_models import asked_in, unserved
    from merrow_server.rendering.forecast_text import forecast_lines

    workflow = load(file)
    forecast = dry_run(workflow, dict(inputs), options=options)
    findings: tuple[str, ...] = ()
    if options.replay is None:
        choice = decide(ModelOptions(base_url=options.base_url), os.environ, read_user_settings())
        findings = unserved(choice, asked_in(forecast)).findings
    for sentence in (*workflow.how_read, *map(visible, findings)):
        echo(f"{style('Note:', fg='yellow')} {sentence}", err=True)
    if as_json:
        emit(json.dumps({**forecast.to_json(), "findings": findings}, indent=2))
        return
    for line in forecast_lines(forecast):
        echo(line)
