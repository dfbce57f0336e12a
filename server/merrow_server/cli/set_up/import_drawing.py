"""``merrow import``: a workflow made of a drawing that is none yet, or of a task graph in JSON."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from merrow_analysis.check import analyse
from merrow_analysis.edits.front_entries import declare_workflow
from merrow_analysis.langgraph import is_langgraph, notes, plain_steps
from merrow_analysis.rules.drawn.write_out import write_out
from merrow_analysis.text import apply_edits, split_lines
from merrow_optimizer.planning.plan_workflow import workflow_text
from merrow_runtime.program.workspace import WorkspaceFinder
from merrow_server.cli import NOT_WELL, Command
from merrow_server.cli.options.common import diagram_argument
from merrow_server.errors import InputError
from merrow_server.files import STDIN_NAME, SourceText, created, write_stdout
from merrow_server.opening import Opened, open_diagram
from merrow_server.plan_files import is_plan_file, open_plans
from merrow_server.rendering.output import complain
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, style
from merrow_server.rendering.text import render_file
from merrow_server.reports.findings_report import FileReport


@click.command(
    "import",
    cls=Command,
    epilog="""
    merrow import graph.mmd                      print the workflow
    merrow import graph.mmd -o flow.mmd          write it to a new file
    merrow import --operators graph.mmd          with an operator at each step
    merrow import plan.json -o flow.mmd          a task graph of Flow
    merrow import flow.py -o flow.mmd            a program of merrow compile, or a published Workflow class
    python agent.py | merrow import -            what print(graph.get_graph().draw_mermaid()) printed
    """,
)
@diagram_argument
@click.option("-o", "--output", metavar="FILE", help="Write the workflow to this new file.")
@click.option("--operators", is_flag=True, help="Write the operator of each step, which can then be changed.")
@click.pass_context
def command(ctx: click.Context, file: str, output: str | None, operators: bool) -> None:
    """Convert the Mermaid flowchart in FILE to a workflow: one that LangGraph drew (`draw_mermaid()`), or any
    other. FILE.json is a task graph as Flow writes it, and FILE.json#2 the second of several. FILE.py is a
    program that `merrow compile` made, or a `Workflow` class as AFlow and MermaidFlow publish them; it is read
    and never run.

    Each box becomes a model call with the box's text as its prompt, and each choice a diamond at which a model
    chooses. The exit code
    is 1 when the workflow has errors that you need to fix; it is written anyway.
    """
    called: Mapping[str, str] = {}
    if file.endswith((".py", ".pyz")):
        from merrow_server.importing import imported

        workflow = imported(Path(file))
        _tell(workflow.notes)
        if workflow.called and output is None:
            raise InputError(f"{file} calls other workflows, which get files of their own: name the file with -o.")
        text, called = workflow.text, workflow.called
    elif is_plan_file(file):
        text = _planned(file)
    else:
        text = _workflow(open_diagram(file, None, use_files=False))
        if operators:
            text = _with_operators(text)
    if output is None:
        write_stdout(SourceText(text))
    else:
        files = {Path(output).with_name(name): of_it for name, of_it in called.items()}
        for path in files:
            if path.name.casefold() == Path(output).name.casefold():
                raise InputError(
                    f"{path.name} is the name of a workflow that {file} calls and gets a file of its own; name another with -o."
                )
        files[Path(output)] = text
        with created(files.items()) as made:
            for path in made:
                echo(f"{path} is written.")
    beside = None if output is None else WorkspaceFinder().provider(Path(output).absolute().parent)
    analysis = analyse(text, provider=beside)
    if analysis.errors:
        report = FileReport(output or "workflow", split_lines(text), list(analysis.errors))
        echo(render_file(report), err=True)
        complain("The workflow has errors; fix them before you run it.")
        ctx.exit(NOT_WELL)


def _tell(sentences: Iterable[str]) -> None:
    for note in sentences:
        echo(f"{style('Note:', fg='yellow')} {visible(note)}", err=True)


def _planned(file: str) -> str:
    """The workflow of a task graph. Raises `InputError` where it is none."""
    read = open_plans(file)
    if len(read.plans) > 1:
        raise InputError(f"{file} has {len(read.plans)} task graphs; name one of them, such as {file}#1.")
    (plan,) = read.plans
    if plan.graph is None:
        raise InputError(f"{file} can't be imported. {' '.join(plan.problems)}")
    _tell(plan.notes)
    return workflow_text(plan.graph, read.task or "Do the tasks of the plan.")


def _workflow(opened: Opened) -> str:
    """The drawing as a workflow of plain steps. Raises `InputError` where it can't be one."""
    name, analysis = opened.target.name, opened.analysis
    if analysis.is_workflow:
        given = "-" if name == STDIN_NAME else shlex.quote(name)
        raise InputError(f"{name} is a workflow already; check it with: merrow check {given}")
    unread = analysis.flow.scenery.undrawn is not None
    if unread or not analysis.diagram.is_flowchart or analysis.settings.opted_out:
        raise InputError(f"{name} can't be imported: {analysis.why_no_workflow}.")
    if analysis.refusals:
        problem = analysis.refusals[0]
        line = opened.in_file(problem.range).start.line + 1
        raise InputError(f"{name} can't be imported. Line {line}: {problem.message}")
    if not analysis.flow.chart.nodes:
        raise InputError(f"{name} can't be imported: it has no nodes.")
    if is_langgraph(analysis.flow):
        _tell(notes(analysis.flow))
        return plain_steps(analysis.flow)
    edit = declare_workflow(analysis.diagram.front_matter)
    if edit is None:
        raise InputError(f"{name} can't be imported: write `workflow: true` into its front matter yourself.")
    return apply_edits(opened.text if opened.fence is None else opened.fence.text, [edit])


def _with_operators(text: str) -> str:
    """The workflow with the operators of its plain steps written out, where that can be done."""
    analysis = analyse(text)
    edits = None
    if analysis.typed is not None:
        edits = write_out(analysis.typed, analysis.settings, analysis.diagram.front_matter)
    return text if edits is None else apply_edits(text, edits)
