"""``merrow show``: one run of the journal, node by node."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import click

from merrow_analysis.suggest import closest
from merrow_runtime.store.database import Store
from merrow_runtime.values import as_text
from merrow_server.cli import Command
from merrow_server.cli.runs import COLOURS, ago, duration
from merrow_server.errors import InputError
from merrow_server.rendering.snippet import visible
from merrow_server.run_report import cost_text, run_report, workflow_text

_COLOUR = {**COLOURS, "reused": "blue", "skipped": None, "unfinished": "yellow"}
_SHORT = 72


@click.command(
    "show",
    cls=Command,
    epilog="""
    merrow show 4f2a                  how a run went, node by node
    merrow show 4f2a --node SOLVE     its inputs, memory, every prompt and answer
    merrow show 4f2a --format json
    """,
)
@click.argument("run")
@click.option("--node", metavar="NODE", help="Everything about one node: prompts, memory, answers, attempts.")
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", help="How to print.")
def command(run: str, node: str | None, output: str) -> None:
    """Show the run RUN of the journal; the beginning of its id is enough."""
    with closing(Store.open()) as store:
        report = run_report(store, run, node)
        if node is not None and not report["nodes"]:
            known = [one["node"] for one in run_report(store, run)["nodes"]]
            near = closest(node, known)
            hint = f" Did you mean {near}?" if near else ""
            raise InputError(f"Run {report['run']} has no node {node}.{hint}")
    if output == "json":
        click.echo(json.dumps(report, indent=2))
        return
    for line in _whole(report) if node is None else _one(report["nodes"][0]):
        click.echo(line)


def _whole(report: dict[str, Any]) -> Iterator[str]:
    yield f"{report['run']}  {_status(report['status'])}  {ago(report['started'])}  {visible(workflow_text(report['workflow']))}"
    usage = report["usage"]
    tokens = usage["prompt_tokens"] + usage["completion_tokens"]
    took = "" if report["seconds"] is None else f", {duration(report['seconds'])}"
    calls = "1 call" if usage["calls"] == 1 else f"{usage['calls']} calls"
    yield f"{calls}, {tokens} tokens, {cost_text(usage)}{took}"
    if report["parent"]:
        yield f"took results from {report['parent']}"
    if report["error"]:
        yield click.style(report["error"], fg="red")
    for name, value in report["inputs"].items():
        yield f"input {name}: {_short(value)}"
    yield ""
    width = max((len(node["node"]) for node in report["nodes"]), default=0)
    for node in report["nodes"]:
        result = node["error"] or _short(next(iter((node["outputs"] or {}).values()), ""))
        took = f"{duration(node['seconds']):>6}" if "seconds" in node else " " * 6
        yield f"{node['node']:<{width}}  {_status(node['status'], 10)}  {took}  {result}"
    for lost in report["lost"]:
        yield f"{lost['node']}: a call was lost at {lost['step']}: {lost['why']}"
    for name, value in (report["outputs"] or {}).items():
        yield f"\n{click.style(name, bold=True)}\n{_text(value)}"


def _one(node: dict[str, Any]) -> Iterator[str]:
    yield f"{click.style(node['node'], bold=True)}  {_status(node['status'])}"
    if node["error"]:
        yield click.style(node["error"], fg="red")
    for entry in node["memory"]:
        yield from _part(f"memory of {entry.get('node', '')}", as_text(entry.get("text", "")))
    for call in node["calls"]:
        sample = f", sample {call['sample'] + 1}" if call["sample"] else ""
        attempt = f", attempt {call['attempt'] + 1}" if call["attempt"] else ""
        heading = (
            f"{call['step']}{sample}{attempt} ({call['kind']}, from {call['origin']}, {duration(call['seconds'])})"
        )
        for message in call["request"].get("messages", ()):
            yield from _part(f"{heading}: {message['role']}", message["content"])
        if call["kind"] != "model":
            yield from _part(f"{heading}: request", as_text(call["request"]))
        answer = call["result"].get("text") if call["kind"] == "model" else as_text(call["result"])
        yield from _part(f"{heading}: {'answer' if call['usable'] else 'answer that could not be used'}", answer or "")
    for name, value in (node["outputs"] or {}).items():
        yield from _part(f"output {name}", _text(value))


def _part(heading: str, text: str) -> Iterator[str]:
    yield f"\n{click.style(heading, fg='cyan')}"
    yield _text(text)


def _text(value: Any) -> str:
    """A value line by line, with what could drive a terminal made visible."""
    return "\n".join(visible(line) for line in as_text(value).splitlines())


def _short(value: Any) -> str:
    text = " ".join(_text(value).split())
    return text if len(text) <= _SHORT else text[: _SHORT - 3] + "..."


def _status(status: str, width: int = 0) -> str:
    return click.style(status.ljust(width), fg=_COLOUR.get(status))
