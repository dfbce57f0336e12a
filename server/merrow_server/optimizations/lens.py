"""A search in an editor's lens and hover, from its plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from merrow_server.rendering.snippet import visible
from merrow_server.reports.run_report import workflow_text


def lens_title(report: Mapping[str, Any]) -> str:
    """That a better version is known, in a few words."""
    from merrow_optimizer.evaluation.statistics.paired import p_text

    result = report["held_out"]
    sure = p_text(result["p"])
    return f"Better version: {result['difference']:+.2f} (held-out, {sure})"


def lens_text(report: Mapping[str, Any]) -> str:
    """The same in a sentence or two."""
    result = report["held_out"]
    lower, upper = result["interval"]
    return (
        f"Search {report['search']} of {visible(workflow_text(report['workflow']))}: {result['crown']:.3f} and not"
        f" {result['start']:.3f} on {result['items']:,} held-out items, a difference of {result['difference']:+.3f}"
        f" [{lower:+.3f}, {upper:+.3f}]. Show what it changes."
    )
