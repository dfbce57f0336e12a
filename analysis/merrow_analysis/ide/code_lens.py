"""What stands above a workflow's first line: its figures in a few words."""

from __future__ import annotations

from dataclasses import dataclass

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.labels.step_text import words_of_id
from merrow_analysis.graph.drawings.words import has_words
from merrow_analysis.graph.measures.measures import Measures
from merrow_analysis.graph.measures.metrics import Metrics, metrics
from merrow_analysis.graph.records import WrittenNode
from merrow_analysis.text import Range


@dataclass(frozen=True, slots=True)
class WorkflowFigures:
    """The figures of a workflow: ``title`` in a few words, ``text`` in sentences, ``metrics`` themselves."""

    title: str
    text: str
    metrics: Metrics


def header_range(analysis: Analysis) -> Range | None:
    """Where the figures stand: the header of a workflow; None for any other text."""
    header = analysis.diagram.header
    if header is None or not analysis.is_workflow:
        return None
    return header[1].range(header[0].span)


def drawing_range(analysis: Analysis) -> Range | None:
    """Where the lens of a flowchart goes that is not a workflow but can be run as it is drawn; None for any other text."""
    header = analysis.diagram.header
    if (
        header is None
        or not analysis.may_be_drawn
        or not any(map(_says_what_to_do, analysis.flow.chart.nodes.values()))
    ):
        return None
    return header[1].range(header[0].span)


def _says_what_to_do(record: WrittenNode) -> bool:
    return words_of_id(record.id) is not None if record.label is None else has_words(record.label.text)


def figures(analysis: Analysis) -> WorkflowFigures | None:
    """The figures of a workflow's subtasks; None for any other text.

    Takes longer than other answers (it looks at all paths): ask when they are shown.
    """
    if analysis.typed is None:
        return None
    measured = metrics(analysis.typed)
    part = measured.workflow if measured.workflow is not None else measured.graph
    return WorkflowFigures(_title(part), _text(part), measured)


def _title(part: Measures) -> str:
    words = [_counted(part.nodes, "subtask"), _counted(part.edges, "edge")]
    if part.depth is not None and part.width is not None:
        words += [_counted(part.depth, "step"), f"up to {part.width} at once"]
    if part.undefined is not None and part.depth is None:
        words.append("no order")
    return " · ".join(words)


def _text(part: Measures) -> str:
    sentences = [f"{_counted(part.nodes, 'subtask')} with {_counted(part.edges, 'edge')} among them."]
    if part.depth is not None and part.width is not None and part.p_avg is not None:
        sentences.append(
            f"At least {_counted(part.depth, 'step')}, {part.p_avg:.2f} subtasks a step on average, {part.width} at most."
        )
    if part.c_dependency is not None:
        sentences.append(f"Dependency complexity {part.c_dependency:.2f}.")
    if part.expected_exact is not None:
        sentences.append(
            f"{part.expected_exact:.2f} subtasks are expected to complete when each fails with probability"
            f" {part.failure_probability:g}."
        )
    if part.undefined is not None:
        sentences.append(part.undefined)
    return " ".join(sentences)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
