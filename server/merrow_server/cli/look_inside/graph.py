"""``merrow graph``: what a workflow means, as a typed graph."""

from __future__ import annotations

import json

import click

from merrow_server.cli import NOT_WELL, Command
from merrow_server.cli.options.common import CONFIG_OPTIONS, diagram_argument, format_option, with_options
from merrow_server.rendering.output import complain
from merrow_server.rendering.terminal import echo, emit


@click.command(
    "graph",
    cls=Command,
    epilog="""
    merrow graph flow.mmd                   JSON: nodes with operators and ports, edges with types
    merrow graph --format text flow.mmd     for reading
    merrow graph README.md#2 | jq '.nodes[].operator'
    """,
)
@diagram_argument
@format_option("How to print the graph.", ("json", "text"))
@click.option("--as-workflow", is_flag=True, help="Read the flowchart as a workflow, also one that names no operators.")
@with_options(CONFIG_OPTIONS)
@click.pass_context
def command(ctx: click.Context, file: str, output: str, as_workflow: bool, config: str | None, no_config: bool) -> None:
    """Print the typed graph of the workflow in FILE: operators, ports, types, cases, order.

    The exit code is 1 when the workflow has errors; the graph is printed anyway.
    """
    # Here, since help and mistakes on the command line need none of it.
    from merrow_analysis.text import Range, split_lines
    from merrow_server.errors import InputError
    from merrow_server.opening import open_diagram
    from merrow_server.positions import WireRange, wire_range
    from merrow_server.rendering.graph import graph_object, graph_text

    opened = open_diagram(file, config, use_files=not no_config, as_workflow=as_workflow)
    if opened.analysis.may_be_drawn:
        opened = open_diagram(file, config, use_files=not no_config, as_workflow=True)
    graph, settings = opened.analysis.typed, opened.analysis.settings
    if graph is None:
        raise InputError(f"{opened.target.name} is not a workflow: {opened.analysis.why_no_workflow}.")
    lines = split_lines(opened.text)

    def place(span: Range) -> WireRange:
        return wire_range(lines, opened.in_file(span))

    if output == "json":
        emit(json.dumps(graph_object(graph, settings, opened.target.name, place, opened.errors), indent=2))
    else:
        for line in graph_text(graph):
            echo(line)
    if opened.errors:
        complain(opened.warning)
        ctx.exit(NOT_WELL)
