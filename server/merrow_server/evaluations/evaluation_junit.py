"""An evaluation as a JUnit report, which shows it in CI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from merrow_server.evaluations.evaluation_data import field_text, inputs_text
from merrow_server.evaluations.stand_ins import stand_ins_text
from merrow_server.rendering.snippet import visible


def junit_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """A test case for each answer: wrong and failed ones are failures, invalid ones errors, unanswered ones skipped."""
    answers = report["answers"]
    counts = {
        "tests": len(report["rows"]),
        "failures": answers["wrong"] + answers["failed"],
        "errors": answers["invalid"],
        "skipped": answers["unanswered"],
    }
    name = quoteattr(visible(report["workflow"]))
    shown = " ".join(f'{key}="{count}"' for key, count in counts.items())
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<testsuites name="merrow evaluate" {shown} time="{report["seconds"]:.3f}">'
    yield f'  <testsuite name={name} {shown} time="{report["seconds"]:.3f}">'
    yield from _properties(report)
    for row in report["rows"]:
        yield from _case(row, report)
    yield "  </testsuite>"
    yield "</testsuites>"


def _properties(report: Mapping[str, Any]) -> Iterator[str]:
    if text := stand_ins_text(report):
        yield f'    <properties><property name="stand-ins" value={quoteattr(visible(text))}/></properties>'


def _case(row: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[str]:
    repeated = f" ({row['repeat'] + 1})" if report["repeats"] > 1 else ""
    head = (
        f"    <testcase name={quoteattr(visible(row['item']) + repeated)} classname={quoteattr(visible(report['workflow']))}"
        f' time="{row["seconds"]:.3f}"'
    )
    element = {"wrong": "failure", "failed": "failure", "invalid": "error", "unanswered": "skipped"}.get(row["status"])
    yield head + ">"
    quoted = quoteattr(visible(row["reason"]))
    inputs = f"inputs: {_lines(inputs_text(row['inputs']))}"
    if element in ("failure", "error"):  # of these, readers show the text
        text = escape(f"{inputs}\n{_compared(row)}\nrun: {row['run']}")
        yield f'      <{element} message={quoted} type="{row["status"]}">{text}</{element}>'
    else:
        if element == "skipped":
            yield f"      <skipped message={quoted}/>"
        yield f"      <system-out>{escape(inputs)}</system-out>"
    yield "    </testcase>"


def _compared(row: Mapping[str, Any]) -> str:
    """The answer and what was expected; of scored fields those of each."""
    if not row["fields"]:
        return f"answer: {_lines(row['read'])}\nexpected: {_lines(row['gold'])}"
    return "\n".join(f"{visible(name)}: {_lines(field_text(field))}" for name, field in row["fields"].items())


def _lines(text: str) -> str:
    """A text with its lines, and nothing that XML does not take."""
    return "\n".join(visible(line) for line in text.splitlines())
