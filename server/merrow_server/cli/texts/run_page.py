"""A run as one HTML file without network and script: its picture, and each step with what it was asked and what it gave.

``report`` is that of `run_report`. Whatever models, people and tools said is escaped, and bounded: the rest is in the journal.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from merrow_analysis.check import analyse
from merrow_runtime.loop_sentences import exhausted_sentences
from merrow_runtime.operators.prompts.prompting import passages_of
from merrow_runtime.provenance import OFFLINE_ORIGIN
from merrow_runtime.values import as_text
from merrow_runtime.visit import is_called
from merrow_server.cli.texts import episode_page
from merrow_server.cli.texts.episode_page import episodes_html
from merrow_server.errors import RunFailure
from merrow_server.rendering.counts import counted
from merrow_server.rendering.html_page import folded, page, safe
from merrow_server.reports.run_report import attempt_text, cost_text
from merrow_server.times import duration

_TEXTS = 1_500_000
"""Characters of texts in a file, over all steps: beyond a text's share each is cut."""
_LONGEST = 8_000
_STYLE = """
table { width: 100%; } td:nth-child(-n+3) { overflow-wrap: break-word; }
th { position: sticky; top: 0; background: Canvas; } figure { margin: 1rem 0; overflow-x: auto; }
figure img { max-width: 100%; background: #fff; }
.finished, .reused { color: var(--good); } .failed, .problem { color: var(--bad); }
.unfinished, .odd { color: var(--odd); } .skipped { opacity: .6; }
"""
_STROKES = {"finished": "#2e7d32", "reused": "#1976d2", "failed": "#c62828", "unfinished": "#b26a00"}
_NODE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECONDS = 60.0


def html_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """The whole file."""
    return page(f"{_name(report)}: {report['status']}", _body(report), _STYLE + episode_page.STYLE, images=True)


def _name(report: Mapping[str, Any]) -> str:
    """The file without its folders: who is given the page need not know where it lay."""
    return PurePath(report["workflow"]).name


def _body(report: Mapping[str, Any]) -> Iterator[str]:
    yield f"<h1>{safe(_name(report))}</h1>"
    yield from _summary(report)
    yield from _picture(report)
    # Each step has its output, and a request and an answer a call.
    texts = len(report["inputs"]) + sum(len(node["outputs"] or ()) + 2 * len(node["calls"]) for node in report["nodes"])
    share = min(_LONGEST, _TEXTS // max(1, texts))
    for title, values in (("Inputs", report["inputs"]), ("Outputs", report["outputs"] or {})):
        if values:
            yield f"<h2>{title}</h2><dl>"
            yield from (
                f"<dt>{safe(name)}</dt><dd>{folded(_text(value), share)}</dd>" for name, value in values.items()
            )
            yield "</dl>"
    yield from episodes_html(report.get("episodes", ()), share)
    yield "<h2>Steps</h2>"
    yield from _steps(report, share)


def _summary(report: Mapping[str, Any]) -> Iterator[str]:
    usage = report["usage"]
    tokens = usage["prompt_tokens"] + usage["completion_tokens"]
    facts = {
        "Run": f"{report['run']}, {report['status']}",
        "Answered by": report["answered_by"] or "",
        "Used": f"{counted(usage['calls'], 'call')}, {tokens:,} tokens, {cost_text(usage)}",
        "Time": "" if report["seconds"] is None else duration(report["seconds"]),
        "Took results from": report["parent"] or "",
    }
    yield "<dl>" + "".join(f"<dt>{name}</dt><dd>{safe(text)}</dd>" for name, text in facts.items() if text) + "</dl>"
    if any(source["endpoint"] == OFFLINE_ORIGIN for source in report["sources"]):
        yield '<p class="odd">The embedded model is not a real model: its answers are made by rule.</p>'
    if report["error"]:
        yield f'<p class="problem">{safe(report["error"])}</p>'
    for sentence in (*exhausted_sentences(report["loops"], report["exhausted"]), *report["damaged"]):
        yield f'<p class="odd">{safe(sentence)}</p>'


def _picture(report: Mapping[str, Any]) -> Iterator[str]:
    """The workflow with a coloured border for each step that ran; its text where no browser can draw it."""
    text = report["text"]
    if not text:
        return
    try:
        drawn = _drawn(_coloured(text, report))
    except RunFailure as problem:
        yield f'<p class="odd">There is no picture: {safe(problem)}</p>'
    else:
        yield f'<figure><img alt="{safe(_name(report)).replace(chr(34), "")}" src="data:image/svg+xml;base64,{drawn}"></figure>'
    yield f"<details><summary>The workflow</summary><pre>{safe(text)}</pre></details>"


@lru_cache(maxsize=2)
def _drawn(text: str) -> str:
    """The SVG as base64, kept: the page of a run that goes on is made often between two changes of it. Raises `RunFailure`."""
    from merrow_server.drawing.picture import draw

    return base64.b64encode(draw(text, "svg", "light", _SECONDS)).decode()


def _coloured(text: str, report: Mapping[str, Any]) -> str:
    """The text with a line of style for each step; of one that ran several times its last visit counts."""
    drawn = analyse(text).flow.nodes  # a style for anything else would draw it
    states = {
        node["id"]: node["status"]
        for node in report["nodes"]
        if node["id"] in drawn and not is_called(node["path"]) and _NODE.fullmatch(node["id"])
    }
    lines = (
        f"style {name} stroke:{_STROKES[state]},stroke-width:3px" for name, state in states.items() if state in _STROKES
    )
    return "\n".join((text, *lines))


def _steps(report: Mapping[str, Any], share: int) -> Iterator[str]:
    heads = ("step", "operator", "state", "result", "calls", "cost", "seconds")
    yield "<table><thead><tr>" + "".join(f"<th>{head}</th>" for head in heads) + "</tr></thead><tbody>"
    for node in report["nodes"]:
        usage = node.get("usage")
        numbers = (
            f"{len(node['calls']):,}" if node["calls"] else "",
            cost_text(usage) if usage and usage["calls"] else "",
            f"{node['seconds']:.2f}" if "seconds" in node else "",
        )
        yield (
            f"<tr><td>{safe(node['node'])}</td><td>{safe(node.get('operator') or '')}</td>"
            f'<td class="{safe(node["status"])}">{safe(node["status"])}</td><td>{_result(node, share)}</td>'
            + "".join(f'<td class="number">{safe(number)}</td>' for number in numbers)
            + "</tr>"
        )
    yield "</tbody></table>"


def _result(node: Mapping[str, Any], share: int) -> str:
    """What a step gave or why it gave nothing, and its calls below."""
    parts = []
    if node["error"]:
        parts.append(f'<span class="problem">{folded(node["error"], share)}</span>')
    if node.get("choice") is not None:
        parts.append(f"chose {safe(node['choice'])}")
    attempt = attempt_text(node)
    if attempt:
        parts.append(safe(attempt))
    outputs = node["outputs"] or {}
    for name, value in outputs.items():
        label = f"{safe(name)}: " if len(outputs) > 1 else ""
        parts.append(label + folded(_text(value), share))
    for call in node["calls"]:
        sample = f", sample {call['sample'] + 1}" if call["sample"] else ""
        attempt = f", attempt {call['attempt'] + 1}" if call["attempt"] else ""
        heading = safe(
            f"{call['step']}{sample}{attempt} ({call['kind']}, {call['origin']}, {duration(call['seconds'])})"
        )
        texts = "".join(f"<pre>{_cut(text, share)}</pre>" for text in (_request(call), as_text(_answer(call))))
        parts.append(f"<details><summary>{heading}</summary>{texts}</details>")
    return "".join(f"<div>{part}</div>" for part in parts)


def _request(call: Mapping[str, Any]) -> str:
    """The messages of a call, of a step of an agent those that were added."""
    request = call["request"]
    messages = request.get("messages", request.get("new"))
    if call["kind"] != "model" or messages is None:
        return as_text(request)
    return "\n\n".join(f"{message['role']}:\n{as_text(message['content'])}" for message in messages)


def _answer(call: Mapping[str, Any]) -> Any:
    result = call["result"]
    return result["text"] if call["kind"] == "model" and result.get("text") and not result.get("calls") else result


def _cut(text: str, most: int) -> str:
    left = len(text) - most
    return safe(text if left <= 0 else f"{text[:most]}\n... and {counted(left, 'more character')}, see merrow show")


def _text(value: Any) -> str:
    passages = passages_of(value)
    return as_text(value) if passages is None else "\n\n".join(passages)
