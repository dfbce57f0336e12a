"""Results of cases for programs: as plain data, and as JUnit XML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from merrow_optimizer.evaluation.cases.results import CaseResult, CaseStatus, counts
from merrow_runtime.values import as_text
from merrow_server.cases.suites import Suite

Results = Sequence[tuple[Suite, CaseResult]]

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML has no form for."""


def plain(results: Results, seconds: float, *, ok: bool) -> dict[str, Any]:
    """All results, as `merrow test --format json` prints them. Lines count from 1."""
    costs = [result.usage.cost_usd for _, result in results]
    return {
        "ok": ok,
        "counts": counts(result for _, result in results),
        "seconds": seconds,
        "cost_usd": None if None in costs else sum(cost for cost in costs if cost is not None),
        "results": [
            {
                "file": str(suite.path),
                "line": line_of(suite, result),
                "workflow": suite.workflow.name,
                "tags": list(result.case.tags),
                **result.to_json(),
            }
            for suite, result in results
        ],
    }


def line_of(suite: Suite, result: CaseResult) -> int:
    """The line in the cases file that a result is about, from 1."""
    return suite.file.range(result.place or result.case.span).start.line + 1


def junit(results: Results, seconds: float) -> str:
    """The results as JUnit XML: a suite for each cases file."""
    by_file: dict[str, list[tuple[Suite, CaseResult]]] = {}
    for suite, result in results:
        by_file.setdefault(str(suite.path), []).append((suite, result))
    lines = ['<?xml version="1.0" encoding="utf-8"?>', f"<testsuites {_totals(results, seconds)}>"]
    for file, each in by_file.items():
        total = sum(result.seconds for _, result in each)
        lines.append(f"  <testsuite name={_quoted(file)} {_totals(each, total)}>")
        for suite, result in each:
            attributes = (
                f"name={_quoted(result.case.id)} classname={_quoted(file)} file={_quoted(file)}"
                f' line="{line_of(suite, result)}" time="{result.seconds:.3f}"'
            )
            inside = _inside(result)
            lines.append(
                f"    <testcase {attributes}>{inside}</testcase>" if inside else f"    <testcase {attributes}/>"
            )
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>", ""])


_ELEMENTS = {
    CaseStatus.FAILED: "failure",
    CaseStatus.STALE: "error",
    CaseStatus.ERROR: "error",
    CaseStatus.SKIPPED: "skipped",
    CaseStatus.XFAILED: "skipped",
}


def _inside(result: CaseResult) -> str:
    element = _ELEMENTS.get(result.status)
    if element is None:
        return ""
    if element == "skipped":
        return f"<skipped message={_quoted(result.message)}/>"
    given = [
        f"input {named.name}: {as_text(named.value) if named.file is None else named.file}"
        for named in result.case.inputs
    ]
    read = [] if result.actual is None else [f"expected: {result.expected}", f"actual: {result.actual}"]
    more = "\n".join([*given, *read])
    return f'<{element} type="{result.status}" message={_quoted(result.message)}>{escape(_clean(more))}</{element}>'


def _totals(results: Results, seconds: float) -> str:
    kinds = [_ELEMENTS.get(result.status) for _, result in results]
    return (
        f'tests="{len(kinds)}" failures="{kinds.count("failure")}" errors="{kinds.count("error")}"'
        f' skipped="{kinds.count("skipped")}" time="{seconds:.3f}"'
    )


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def _quoted(text: str) -> str:
    return quoteattr(_clean(text))
