"""How runs ended, as messages for clients that have nothing to show them with."""

from __future__ import annotations

from typing import Any

from merrow_server.rendering.counts import counted


def end_text(ended: dict[str, Any]) -> str:
    """How a run ended, with its figures, in a few lines."""
    from merrow_analysis.ide.texts.markup import shortened
    from merrow_runtime.provenance import answered_by
    from merrow_runtime.values import as_text
    from merrow_server.reports.run_report import cost_text

    usage = ended["usage"]
    calls = counted(usage["calls"], "call")
    by = answered_by((source["endpoint"], source["model"]) for source in ended["sources"])
    figures = f"{calls}, {cost_text(usage)}, {ended['seconds']:.1f} s" + (f", answered by {by}" if by else "")
    if ended.get("finished_before"):
        figures = f"finished before; nothing was called; {figures}"
    if ended["status"] != "finished":
        word = "was cancelled" if ended["status"] == "cancelled" else "failed"
        return f"Run {ended['run']} {word} ({figures}). {ended.get('error', '')}".rstrip()
    outputs = "\n".join(shortened(as_text(value), 3) for value in ended["outputs"].values())
    return f"{outputs}\n({figures})"
