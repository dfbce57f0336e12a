"""``merrow show RUN``: a run node by node, one of its nodes, or its workflow as a revision had it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from merrow_analysis.definitions.operators import HUMAN
from merrow_analysis.people.forms import NOTE
from merrow_analysis.suggest import closest
from merrow_runtime.loop_sentences import exhausted_sentences
from merrow_runtime.operators.prompts.prompting import passages_of
from merrow_runtime.provenance import OFFLINE_ORIGIN, answered_by
from merrow_runtime.values import as_text
from merrow_server.cli.texts.episode_lines import episodes_lines
from merrow_server.cli.texts.questions import question_lines
from merrow_server.errors import InputError
from merrow_server.rendering.counts import counted, interrupted_text
from merrow_server.rendering.output import STATUS_COLOURS, complain
from merrow_server.rendering.snippet import cells, plain, visible
from merrow_server.rendering.terminal import echo, emit, style
from merrow_server.reports.run_report import (
    attempt_text,
    choice_text,
    cost_text,
    revision_object,
    run_report,
    updates_text,
    workflow_text,
)
from merrow_server.times import ago, duration

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store

_COLOUR = {**STATUS_COLOURS, "reused": "blue", "skipped": None, "unfinished": "yellow"}
_SHORT = 72
_MOST_NAMED = 4


def show_run(store: Store, run: str, node: str | None, revision: int | None, *, as_json: bool) -> None:
    """Print a run of a journal. Raises `InputError`."""
    if revision is not None:
        if node is not None:
            raise InputError("--revision shows the whole workflow; leave out --node.")
        _snapshot(store, run, revision, as_json=as_json)
        return
    report = run_report(store, run, node)
    if node is not None and not report["nodes"] and "episodes" not in report:
        known = [record["node"] for record in run_report(store, run)["nodes"]]
        near = closest(node, known)
        if near is None or near.casefold() != node.casefold():
            hint = f" Did you mean {near}?" if near else ""
            raise InputError(f"Run {report['run']} has no node {node}.{hint}")
        report = run_report(store, run, near)
    if as_json:
        emit(json.dumps(report, indent=2))
        return
    if node is None:
        shown = _whole(report)
    else:
        own = [_one(one, report.get("visits", [])) for one in report["nodes"]]
        shown = chain(*own, episodes_lines(report.get("episodes", ()), report["nodes"][0]["node"] if own else None))
    for line in shown:
        echo(line)
    for sentence in report["damaged"]:
        complain(sentence)


def _snapshot(store: Store, run: str, number: int, *, as_json: bool) -> None:
    """Print the workflow that a run had with a revision."""
    from merrow_runtime.revising.revision_requests import snapshot_at

    snapshot = json.loads(snapshot_at(store, run, number))
    if as_json:
        known = next((revision for revision in store.revisions(run) if revision.number == number), None)
        told = {"revision": 0, "state": "applied"} if known is None else revision_object(known)
        emit(json.dumps({"run": run, **told, "text": snapshot["text"], "files": snapshot["files"]}, indent=2))
        return
    for line in plain(snapshot["text"]).removesuffix("\n").split("\n"):
        echo(line)


def _whole(report: dict[str, Any]) -> Iterator[str]:
    yield f"{report['run']}  {_status(report['status'])}  {ago(report['started'])}  {visible(workflow_text(report['workflow']))}"
    usage = report["usage"]
    tokens = usage["prompt_tokens"] + usage["completion_tokens"]
    took = "" if report["seconds"] is None else f", {duration(report['seconds'])}"
    calls = counted(usage["calls"], "call")
    by = f", answered by {visible(report['answered_by'])}" if report["answered_by"] else ""
    yield f"{calls}, {tokens} tokens, {cost_text(usage)}{took}{by}"
    if any(source["endpoint"] == OFFLINE_ORIGIN for source in report["sources"]):
        yield style("The embedded model is not a real model: its answers are made by rule.", fg="yellow")
    if report["parent"]:
        yield f"took results from {report['parent']}"
    if report["error"]:
        yield style(report["error"], fg="red")
    for sentence in exhausted_sentences(report["loops"], report["exhausted"]):
        yield style(visible(sentence), fg="yellow")
    yield from question_lines(report["asks"])
    for name, value in report["inputs"].items():
        yield f"input {name}: {_short(value)}"
    yield ""
    width = max((cells(node["node"]) for node in report["nodes"]), default=0)
    for node in report["nodes"]:
        name = node["node"] + " " * (width - cells(node["node"]))
        took = f"{duration(node['seconds']):>6}" if "seconds" in node else " " * 6
        first, *more = _results(node)
        yield f"{name}  {_status(node['status'], 10)}  {took}  {first}".rstrip()
        yield from (" " * (width + 22) + line for line in more)
    yield from episodes_lines(report.get("episodes", ()))
    for revision in report["revisions"]:
        reason = f": {revision['reason']}" if revision["reason"] else ""
        yield f"revision {revision['revision']} ({revision['trigger']}) {_status(revision['state'])}{visible(reason)}"
        if revision["diff"].get("bypassed"):
            yield style(f"  bypassed: {visible(', '.join(revision['diff']['bypassed']))}", fg="yellow")
        yield from (f"  {choice}" for choice in [choice_text(revision["diff"])] if choice)
    if report["updates"] is not None:
        yield visible(updates_text(report["updates"]))
    for lost in report["lost"]:
        yield f"{lost['node']}: a call was lost at {lost['step']}: {lost['why']}"
    yield from filter(None, [interrupted_text(sum(lost["why"] == "interrupted" for lost in report["lost"]))])
    for name, value in (report["outputs"] or {}).items():
        yield f"\n{style(name, bold=True)}\n{_text(value)}"


def _results(node: dict[str, Any]) -> list[str]:
    """A line for each output, with its name where there are several."""
    if "bypassed" in node:
        by = style(f"bypassed by revision {node['bypassed']}", fg="yellow")
        return [f"{by}: {node['error']}"] if node["error"] else [by, *_of_outputs(node)]
    if node["error"]:
        return [node["error"]]
    if node.get("masked"):
        return [style("masked", fg="yellow"), *_of_outputs(node)]
    if "valid" in node and node["status"] != "failed":
        attempt = attempt_text(node)
        marked = [style(attempt, fg="green" if node["valid"] else "yellow")] if attempt else []
        return [*marked, *_of_outputs(node)]
    return _of_outputs(node)


def _of_outputs(node: dict[str, Any]) -> list[str]:
    if node.get("choice") is not None:
        return [f"chose {visible(node['choice'])}"]
    outputs = _outputs(node)
    if len(outputs) < 2:
        return [_short(value) for value in outputs.values()] or [""]
    return [f"{visible(name)}: {_short(value)}" for name, value in outputs.items()]


def _outputs(node: dict[str, Any]) -> dict[str, Any]:
    """The outputs of a node; the note of a person's answer only where they left one."""
    left_out = NOTE if node.get("operator") == HUMAN.name else None
    return {name: value for name, value in (node["outputs"] or {}).items() if name != left_out or value}


def _one(node: dict[str, Any], visits: Sequence[str]) -> Iterator[str]:
    """``visits`` are the names of all visits of the node, where it ran several times."""
    by = f"  answered by {visible(node['answered_by'])}" if node["answered_by"] else ""
    yield f"{style(node['node'], bold=True)}  {_status(node['status'])}{by}"
    if visits:
        more = f" and {len(visits) - _MOST_NAMED} more" if len(visits) > _MOST_NAMED else ""
        yield f"one of {len(visits)} visits: {', '.join(map(visible, visits[:_MOST_NAMED]))}{more}"
    if "bypassed" in node:
        yield style(f"bypassed by revision {node['bypassed']}: the run continued without it", fg="yellow")
    if node["error"]:
        yield style(node["error"], fg="red")
    if node.get("choice") is not None:
        yield f"chose {visible(node['choice'])}"
    if node.get("masked"):
        yield style("masked: what it was answered is in its calls, and was not passed on", fg="yellow")
    for verdict in node.get("attempts", ()):
        yield from _verdict(verdict)
    if node["why_no_call"]:
        yield from _part("Why no call", node["why_no_call"])
    yield from _inputs(node["inputs"] or {})
    for entry in node["memory"]:
        text = entry.get("text", "")
        yield from _part(
            f"memory of {entry.get('node', '')}", "missing in the journal" if text is None else as_text(text)
        )
    if node.get("steps"):
        yield f"\n{style('Steps', bold=True)}"
    for step in node.get("steps", ()):
        failed = "" if step["error"] is None else style(f": {_text(step['error'])}", fg="yellow")
        yield f"{step['step']}: {_text(step['title'])}{failed}"
    for call in node["calls"]:
        sample = f", sample {call['sample'] + 1}" if call["sample"] else ""
        attempt = f", attempt {call['attempt'] + 1}" if call["attempt"] else ""
        heading = f"{call['step']}{sample}{attempt} ({call['kind']}, {_from(call)}, {duration(call['seconds'])})"
        # Of a step of an agent, what was added since the one before.
        for message in call["request"].get("messages", call["request"].get("new", ())):
            yield from _part(f"{heading}: {message['role']}", message["content"])
        if call["kind"] != "model":
            yield from _part(f"{heading}: request", as_text(call["request"]))
        answer = call["result"].get("text") if call["kind"] == "model" else as_text(call["result"])
        if call["kind"] == "model" and call["result"].get("calls"):
            answer = "\n".join((answer or "", as_text(call["result"]["calls"]))).strip()
        yield from _part(f"{heading}: {'answer' if call['usable'] else 'answer that could not be used'}", answer or "")
    for name, value in _outputs(node).items():
        yield from _part(f"output {name}", _text(value))


def _verdict(attempt: dict[str, Any]) -> Iterator[str]:
    """What a validator said of one attempt."""
    sample = f", sample {attempt['sample'] + 1}" if "sample" in attempt else ""
    verdict = style("valid", fg="green") if attempt["valid"] else style("not valid", fg="yellow")
    yield f"\nattempt {attempt['attempt']}{sample}: {verdict}"
    for reason in attempt["reasons"]:
        first, *more = _text(reason).split("\n")
        yield f"  - {first}"
        yield from (f"    {line}" for line in more)
    if attempt["feedback"]:
        yield f"  feedback: {' '.join(_text(attempt['feedback']).split())}"


def _inputs(inputs: dict[str, Any]) -> Iterator[str]:
    """What arrived at each port, and from which node."""
    if inputs:
        yield f"\n{style('Inputs', bold=True)}"
    for port, several in inputs.items():
        for given in several:
            giver = ".".join(visible(part) for part in (given["node"], given.get("output")) if part)
            heading = (
                f"input {visible(port)} (from {giver})" if given["node"] else f"input {visible(port)} (set by hand)"
            )
            text = _text(given["value"]) if "value" in given else "(no longer in the journal)"
            yield from _part(heading, text)


def _part(heading: str, text: str) -> Iterator[str]:
    yield f"\n{style(heading, fg='cyan')}"
    yield _text(text)


def _from(call: dict[str, Any]) -> str:
    """Where a call's result came from."""
    if call["kind"] != "model":
        return f"from {call['origin']}"
    by = visible(answered_by([(call["endpoint"] or "", call["model"] or "")]))
    return f"answered by {by}" if call["origin"] in ("endpoint", "offline", "replay") else f"{call['origin']}, of {by}"


def _text(value: Any) -> str:
    """A value line by line, documents as the passages that they are, with what could drive a terminal made visible."""
    passages = passages_of(value)
    return plain(as_text(value) if passages is None else "\n\n".join(passages)).removesuffix("\n")


def _short(value: Any) -> str:
    text = " ".join(_text(value).split())
    return text if len(text) <= _SHORT else text[: _SHORT - 3] + "..."


def _status(status: str, width: int = 0) -> str:
    return style(status.ljust(width), fg=_COLOUR.get(status))
