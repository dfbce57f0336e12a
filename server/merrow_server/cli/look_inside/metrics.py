"""``merrow metrics``: the figures of a workflow."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isnan
from typing import TYPE_CHECKING, Any

import click

from merrow_server.cli import NOT_WELL, Command
from merrow_server.cli.options.common import CONFIG_OPTIONS, diagram_argument, format_option, with_options
from merrow_server.errors import InputError
from merrow_server.rendering.output import complain
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, emit

if TYPE_CHECKING:
    from merrow_analysis.check import Analysis
    from merrow_analysis.graph.measures.simulation import Simulation
    from merrow_server.failure_rates import FailureRate


@click.command(
    "metrics",
    cls=Command,
    epilog="""
    merrow metrics flow.mmd
    merrow metrics --failure-probability 0.2 flow.mmd
    merrow metrics --format json README.md#1
    merrow metrics --simulate 10000 flow.mmd
    merrow metrics plan.json                   the task graphs of Flow, and which of them each rule ranks first
    """,
)
@diagram_argument
@format_option("How to print the figures.")
@click.option(
    "--failure-probability",
    type=click.FloatRange(0, 1),
    default=0.1,
    show_default=True,
    metavar="P",
    help="How likely a subtask is to fail, from 0 to 1.",
)
@click.option(
    "--journal",
    is_flag=True,
    help="Take the failure rate of each node from your own runs of FILE, if it was executed at least 20 times.",
)
@click.option(
    "--simulate",
    type=click.IntRange(1, 10_000_000),
    metavar="N",
    help="Simulate N runs as well, for the number of completed subtasks.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed of --simulate.")
@with_options(CONFIG_OPTIONS)
@click.pass_context
def command(ctx: click.Context, /, file: str, output: str, failure_probability: float, **given: Any) -> None:
    """Measure the workflow in FILE: parallelism, dependency complexity, depth, expected completed subtasks.

    The figures are given for the subtasks alone (without inputs and outputs) and for the whole graph. The exit code is
    1 when the workflow has errors; the figures are printed anyway. FILE.json can be a task graph as Flow's
    planner writes it; FILE.json#2 is the second of several.
    """
    # Here, since help and mistakes on the command line need none of it.
    from merrow_analysis.graph.measures.metrics import metrics, metrics_with
    from merrow_server.cli.texts.metrics import metrics_table
    from merrow_server.opening import open_diagram
    from merrow_server.plan_files import is_plan_file

    if isnan(failure_probability):
        raise click.BadParameter("a probability is a number from 0 to 1", ctx, param_hint="--failure-probability")
    if is_plan_file(file):
        if given["journal"]:
            raise click.UsageError(f"--journal looks for runs of a workflow file, and {file} has task graphs.", ctx)
        from merrow_server.cli.texts.plan_metrics import print_metrics

        ctx.exit(print_metrics(file, output, failure_probability, given["simulate"], given["seed"]))
    opened = open_diagram(file, given["config"], use_files=not given["no_config"])
    analysis = opened.analysis
    if analysis.flow.scenery.undrawn is not None:
        raise InputError(f"{opened.target.name} can't be measured: {analysis.why_no_workflow}.")
    measured = metrics(analysis.typed if analysis.typed is not None else analysis.flow, failure_probability)
    rates = _rates(file, analysis) if given["journal"] else {}
    failures = {name: rate.rate for name, rate in rates.items()}
    if failures and analysis.typed is not None:
        measured = metrics_with(analysis.typed, failure_probability, failures)
    simulated = None
    if given["simulate"] is not None:
        simulated = _simulated(analysis, failure_probability, failures, given["simulate"], given["seed"])
    if output == "json":
        more: dict[str, Any] = {}
        if given["simulate"] is not None:
            more["simulated"] = None if simulated is None else simulated.as_json()
        if given["journal"]:
            more["failures"] = {name: rate.as_json() for name, rate in rates.items()}
        emit(json.dumps({"file": opened.target.name, **measured.as_json(), **more}, indent=2))
    else:
        for line in metrics_table(measured, simulated):
            echo(line)
        for name, rate in rates.items():
            echo(f"{visible(name)} failed in {rate.failed} of {rate.executions} executions")
        if given["journal"] and not rates:
            echo(
                "No node was executed at least 20 times in your runs of it, so each is taken to fail with probability"
                f" {failure_probability:g}."
            )
    if opened.errors:
        complain(opened.warning)
        ctx.exit(NOT_WELL)


def _rates(file: str, analysis: Analysis) -> dict[str, FailureRate]:
    """The failure rates of the subtasks that were run often enough."""
    from merrow_analysis.graph.measures.metrics import subtasks_of
    from merrow_server.failure_rates import failure_rates

    nodes = [] if analysis.typed is None else subtasks_of(analysis.typed)[0]
    known = failure_rates(file)
    return {name: known[name] for name in nodes if name in known}


def _simulated(
    analysis: Analysis, failure_probability: float, failures: Mapping[str, float], runs: int, seed: int
) -> Simulation | None:
    """A simulation of the subtasks of a workflow, or of all nodes of a flowchart that is not one."""
    from merrow_analysis.graph.measures.metrics import all_of, subtasks_of
    from merrow_analysis.graph.measures.simulation import simulate

    nodes, edges = all_of(analysis.flow) if analysis.typed is None else subtasks_of(analysis.typed)
    return simulate(nodes, edges, {**dict.fromkeys(nodes, failure_probability), **failures}, runs, seed)
