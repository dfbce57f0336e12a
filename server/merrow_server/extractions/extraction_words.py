"""Extractions in words: what one may cost, and how it came out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from merrow_optimizer.extraction.plan import ExtractionPlan
from merrow_runtime.running.forecast_figures import Bounds
from merrow_server.evaluations.tables import Style, bare
from merrow_server.rendering.counts import counted
from merrow_server.rendering.snippet import cells, visible
from merrow_server.reports.run_report import cost_text


def plan_lines(plan: ExtractionPlan, dataset: str, part: str) -> Iterator[str]:
    """What an extraction sees and may use, by stage: before the first call."""
    total = len(plan.split.all)
    yield (
        f"{counted(total, 'case')} of {visible(dataset)} (part {visible(part)}): {len(plan.split.extracted):,} to extract from,"
        f" {len(plan.split.probe):,} to probe the set with. {visible(plan.generator)} names operators, {visible(plan.base.model)}"
        " carries them out."
    )
    for stage in plan.forecast:
        if stage.calls.most == 0:
            yield f"Stage {stage.stage}, {stage.name}: left out."
        else:
            calls, tokens = (_range(bounds, "{:,.0f}") for bounds in (stage.calls, stage.tokens))
            yield (
                f"Stage {stage.stage}, {stage.name}: {calls} call{'' if calls == '1' else 's'}, {tokens} tokens,"
                f" {_money(stage.cost_usd)}."
            )


def _range(bounds: Bounds, form: str) -> str:
    most = bounds.least if bounds.most is None else bounds.most
    low, high = form.format(bounds.least), form.format(most)
    return low if low == high else f"{low} to {high}"


def _money(bounds: Bounds) -> str:
    if bounds.most is None:
        return "price unknown"
    return "$0" if bounds.most == 0 else f"${bounds.least:.4f} to ${bounds.most:.4f}"


def report_lines(report: Mapping[str, Any], style: Style = bare) -> Iterator[str]:
    """How an extraction came out."""
    if report["why_nothing"] is not None:
        yield visible(report["why_nothing"])
        return
    rows = [("OPERATOR", "TAKES", "GIVES", "SUPPORT", "CASES")]
    for operator in report["operators"]:
        support = f"{operator['support']} of {operator['paths']}" if operator["paths"] else ""
        rows.append(
            (operator["name"], ", ".join(operator["takes"]), operator["gives"], support, f"{operator['cases']:,}")
        )
    if report["operators"]:
        yield from _table(rows, style)
        yield ""
    yield from report_sentences(report)


def ended_text(ended: Mapping[str, Any]) -> str:
    """How an extraction ended, for a client that shows no more: the sentences of its report, and where its files are."""
    report = ended["report"]
    if report is None:
        reason = f" {ended['error']}" if ended["error"] else ""
        return f"Extraction {ended['extraction']} was stopped before its end; what is finished is kept.{reason}"
    if report["why_nothing"] is not None:
        return str(report["why_nothing"])
    return "\n".join([*report_sentences(report), f"{visible(ended['library'])} is written; its report is beside it."])


def report_sentences(report: Mapping[str, Any]) -> Iterator[str]:
    """The same without the table of operators; ``report`` has operators, or looked for them."""
    if not report["operators"]:
        yield "No operator answers a case as well as the steps whose place it takes."
    for name, coverage in report["coverage"].items():
        extracted = name == "extraction"
        if coverage["share"] is None:
            yield f"No case {'that operators were drawn from' if extracted else 'of the probe'} has steps to rewrite."
            continue
        low, high = coverage["interval"]
        cases = counted(coverage["cases"], "case" if extracted else "probe case")
        yield (
            f"The set covers {coverage['covered']:,} of the {cases}{' that it was drawn from' if extracted else ''}:"
            f" {coverage['share']:.3f} (95 % interval {low:.3f} to {high:.3f})."
        )
    choice = report["choice"]
    if choice is not None and not choice["is_exact"]:
        yield f"The choice among {len(report['pool']):,} candidates is greedy: a smaller set may do."
    yield f"Operators: {' -> '.join(_counted(link) for link in report['chain'])}."
    if report["placed_by_model"]:
        yield f"The model placed {counted(report['placed_by_model'], 'step')} that fitted several groups."
    scores = report["scores"]
    if scores["with_set"] is not None:
        yield (
            f"Score of the {counted(scores['whole'], 'case')} that the set rewrites: {scores['with_set']:.3f}, with their own"
            f" steps {scores['own_of_whole']:.3f}."
        )
    yield _compression(report["compression"])
    for stage, answers in report["answers"].items():
        yield (
            f"Stage {stage}: {counted(answers['questions'], 'question')}, {counted(answers['valid_first'], 'answer')} valid"
            f" at first, {answers['valid_after_repair']:,} when sent back, {answers['never_valid']:,} never."
        )
    if report["leaks_refused"]:
        yield f"{counted(report['leaks_refused'], 'answer')} had something of a case in a prompt and went back."
    unusable = len(report["cases"]["unusable"])
    if unusable:
        yield f"{counted(unusable, 'case')} had no steps that could be used."
    for note in report["notes"]:
        yield visible(note)
    cost = report["cost"]
    yield (
        f"{counted(cost['generator']['calls'], 'answer')} of the model that names operators ({cost_text(cost['generator'])}),"
        f" {counted(cost['runs_of_cases'], 'run')} of cases."
    )


def _compression(compression: Mapping[str, Any]) -> str:
    parts = []
    for name, entry in compression.items():
        ratio = "" if entry["ratio"] is None else f" ({entry['ratio']:.1f} times)"
        words = name.replace("prompt_tokens", "tokens of prompts")
        parts.append(f"{words} {entry['cases']:,} to {entry['library']:,}{ratio}")
    return f"Compression: {', '.join(parts)}."


def _counted(link: Mapping[str, Any]) -> str:
    many = f"{link['least']:,}" if link["least"] == link["most"] else f"{link['least']:,} to {link['most']:,}"
    return f"{many} {link['what']}" if link["what"] in ("initial", "groups", "pool", "set") else many


def _table(rows: Sequence[Sequence[str]], style: Style) -> Iterator[str]:
    shown = [[visible(value) for value in row] for row in rows]
    widths = [max(cells(row[column]) for row in shown) for column in range(len(shown[0]))]
    for number, row in enumerate(shown):
        line = "  ".join(
            value + " " * (width - cells(value)) for value, width in zip(row, widths, strict=True)
        ).rstrip()
        yield style(line, bold=True) if number == 0 else line
