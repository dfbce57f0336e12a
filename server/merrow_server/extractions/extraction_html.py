"""The report of an extraction as one HTML file without network and script; whatever names, prompts and data say is escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any

from merrow_server.extractions.extraction_words import report_sentences
from merrow_server.rendering.counts import counted
from merrow_server.rendering.page_colours import COLOURS
from merrow_server.rendering.snippet import plain

_STYLE = (
    COLOURS
    + """
:root { color-scheme: light dark; --line: #8886; --soft: #8882; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 84rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.1rem; margin-top: 2rem; } td, pre, p { overflow-wrap: anywhere; }
table { border-collapse: collapse; } th { text-align: left; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; vertical-align: top; }
pre { white-space: pre-wrap; background: var(--soft); padding: .5rem; } summary { cursor: pointer; }
"""
)
_POLICY = (
    "default-src 'none'; style-src 'sha256-"
    + base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    + "'; base-uri 'none'; form-action 'none'"
)


def as_html(report: Mapping[str, Any]) -> str:
    """The whole file, about an extraction that had something to look at (no ``why_nothing``)."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>Operators from solved cases</title>\n<style>{_STYLE}</style>\n</head>\n<body>"
    yield "<h1>Operators from solved cases</h1>"
    yield "".join(f"<p>{_safe(line)}</p>" for line in report_sentences(report))
    yield from _parts(report)
    yield "</body>\n</html>"


def _parts(report: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>Operators</h2>"
    for operator in report["operators"]:
        yield f"<h3>{_safe(operator['name'])}</h3><p>{_safe(_signature(operator))}; {_safe(_support(operator))}</p>"
        yield f"<pre>{_safe(operator['prompt'])}</pre>"
    yield "<h2>Reduction</h2>"
    yield _table(
        ("", "least", "most"), ((bounds["what"], bounds["least"], bounds["most"]) for bounds in report["chain"])
    )
    yield "<h2>Groups</h2>"
    yield _table(
        ("name", "signature", "steps", "cases"),
        ((group["name"], _signature(group), group["steps"], group["cases"]) for group in report["groups"]),
    )
    if report["paths"]:
        yield "<h2>Paths</h2>"
    for number, path in enumerate(report["paths"], 1):
        counts = ", ".join(map(str, path["counts"]))
        operators = "operator" if counts == "1" else "operators"
        yield f"<details><summary>Path {number}: {counts} {operators}</summary>"
        for step, mapping in enumerate(path["steps"], 1):
            yield f"<p>Step {step}</p>"
            yield _table(
                ("from", "to", "reason"),
                ((merge["from"], merge["to"] or "(dropped)", merge["reason"]) for merge in mapping),
            )
        yield "</details>"
    yield "<h2>Pool</h2>"
    yield _table(
        ("name", "signature", "support", "groups"),
        (
            (operator["name"], _signature(operator), _support(operator), ", ".join(operator["groups"]))
            for operator in report["pool"]
        ),
    )


def _signature(operator: Mapping[str, Any]) -> str:
    return f"{', '.join(operator['takes'])} -> {operator['gives']}"


def _support(operator: Mapping[str, Any]) -> str:
    paths = f"support {operator['support']} of {operator['paths']}, " if operator["paths"] else ""
    return f"{paths}{counted(operator['cases'], 'case')}"


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    top = "".join(f"<th>{_safe(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{_safe(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{top}</tr>{body}</table>"


def _safe(text: str) -> str:
    return escape(plain(text))
