"""A dry run for people: the order of nodes, every prompt, and what it may cost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from merrow_analysis.tools.pins import shown
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import style

if TYPE_CHECKING:
    from merrow_runtime.running.forecast_figures import Bounds, Forecast, PlannedNode, PlannedTool


def forecast_lines(forecast: Forecast) -> Iterator[str]:
    """The lines of a forecast, its costs last."""
    for number, node in enumerate(forecast.nodes, start=1):
        yield from _node(number, node)
    yield ""
    yield f"endpoint: {forecast.endpoint}"
    cost = cost_text(forecast.cost_usd, is_open=any(node.why_open is not None for node in forecast.nodes))
    yield f"calls: {bounds_text(forecast.calls)}; tokens: {bounds_text(forecast.tokens, about=True)}; cost: {cost}"
    if any(node.times is not None for node in forecast.nodes):
        yield "Of each Loop the first turn is shown, of each Map one item; later turns also have what `again` edges bring."
    yield from (visible(loop.text) for loop in forecast.loops)
    again = "" if forecast.calls.most == 0 else " A question whose answer can't be used is asked up to twice more."
    yield f"No call was made.{again}"


def _node(number: int, node: PlannedNode) -> Iterator[str]:
    asks_model = node.questions or node.embeds is not None
    model = f", {node.model}" if node.model and asks_model else ""
    times = f", {node.samples} samples" if node.samples > 1 else ""
    if node.times is not None:
        times += f", {bounds_text(node.times)} times"
    times += ", played by a model" if node.played else ""
    choice = "" if node.runs else ", only if a Decision leads here"
    yield f"{number}. {style(node.node, bold=True)} ({node.operator}{model}{times}{choice})"
    if node.person is not None:
        yield f"   asks a person: {visible(' '.join(node.person.split()))}"
    if node.tool is not None:
        yield f"   calls the tool {visible(node.tool)}"
    if node.offered:
        steps = "1 step" if node.steps == 1 else f"{node.steps} steps"
        yield f"   its model may use {visible(', '.join(node.offered))}, in up to {steps}"
    for tool in node.may:
        yield f"   {visible(_permitted(tool))}"
    if node.embeds is not None:
        new = f", and {node.embeds:,} of its store's texts, which have no vectors yet" if node.embeds else ""
        yield f"   has the query embedded{new}"
    if node.why_open is not None:
        yield f"   {visible(node.why_open)}"
    for question in node.questions:
        often = f"{question.least}" if question.least == question.most else f"{question.least} to {question.most}"
        details = [] if often == "1" else [f"asked {often} times"]
        details += [] if question.model is None else [f"answered by {visible(question.model)}"]
        yield ", ".join((f"   {style(question.step, fg='cyan')}", *details))
        for message in question.messages:
            yield f"     {style(message.role + ':', dim=True)}"
            for line in message.content.splitlines():
                yield f"     | {visible(line)}"


def _permitted(tool: PlannedTool) -> str:
    """What may be done with a tool, in a line."""
    asks = "it is called without asking you" if tool.allowed else "you are asked first unless you agreed before"
    again = "it may be called again" if tool.repeatable else "it is never called again for the same step"
    hints = ", ".join(f"{key}: {json.dumps(value)}" for key, value in sorted(tool.hints.items()))
    return f"{tool.name}: {asks}; {again}" + (f"; its server says, unchecked: {shown(hints)}" if hints else "")


def bounds_text(bounds: Bounds, *, about: bool = False) -> str:
    """The least and the most; one number where they are equal."""
    least, most = f"{bounds.least:,.0f}", "unknown" if bounds.most is None else f"{bounds.most:,.0f}"
    return ("about " if about else "") + (least if least == most else f"{least} to {most}")


def cost_text(bounds: Bounds, *, is_open: bool) -> str:
    """What a run may cost; ``is_open`` says that a workflow is planned while it runs."""
    if bounds.most is None and is_open:
        return "unknown, because a workflow is not planned yet"
    if bounds.most is None:
        return "unknown, because a model has no known price"
    if bounds.most == 0:
        return "$0"
    return f"${bounds.least:.4f} to ${bounds.most:.4f}, estimated"
