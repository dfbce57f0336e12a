"""The report of an extraction as one HTML file without network and script; whatever names, prompts and data say is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from merrow_server.extractions.extraction_words import report_sentences
from merrow_server.rendering.counts import counted
from merrow_server.rendering.html_page import page, safe


def as_html(report: Mapping[str, Any]) -> str:
    """The whole file, about an extraction that had something to look at (no ``why_nothing``)."""
    return "\n".join(page("Operators from solved cases", _lines(report))) + "\n"


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    yield "<h1>Operators from solved cases</h1>"
    yield "".join(f"<p>{safe(line)}</p>" for line in report_sentences(report))
    yield from _parts(report)


def _parts(report: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>Operators</h2>"
    for operator in report["operators"]:
        yield f"<h3>{safe(operator['name'])}</h3><p>{safe(_signature(operator))}; {safe(_support(operator))}</p>"
        yield f"<pre>{safe(operator['prompt'])}</pre>"
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
    top = "".join(f"<th>{safe(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{safe(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{top}</tr>{body}</table>"
