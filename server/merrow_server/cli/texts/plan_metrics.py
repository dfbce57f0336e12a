"""The figures of task graphs in a JSON file: those of a workflow's subtasks, and what each rule of ranking says of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from merrow_analysis.graph.measures.measures import Measures, measure
from merrow_analysis.graph.measures.metrics import Metrics
from merrow_analysis.graph.measures.simulation import Simulation, simulate
from merrow_optimizer.planning.plan_reader import PlanReading
from merrow_optimizer.planning.ranking import RULES, ranked
from merrow_optimizer.planning.task_graph import TaskGraph
from merrow_server.cli import NOT_WELL, OK
from merrow_server.cli.texts.metrics import metrics_table
from merrow_server.plan_files import open_plans
from merrow_server.rendering.output import complain
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, emit


def print_metrics(file: str, output: str, failure_probability: float, runs: int | None, seed: int) -> int:
    """Print the figures; the exit code is 1 where a graph of the file can't be read. Raises `InputError`."""
    read = open_plans(file)
    shown = [_Measured(plan, failure_probability, runs, seed) for plan in read.plans]
    first = _ranking([measured.graph for measured in shown])
    if output == "json":
        plans = [{"plan": number, **measured.as_json()} for number, measured in enumerate(shown, 1)]
        emit(
            json.dumps(
                {"file": read.name, **(shown[0].as_json() if len(plans) == 1 else {"plans": plans, "first": first})},
                indent=2,
            )
        )
    else:
        for number, measured in enumerate(shown, 1):
            if len(shown) > 1:
                echo(f"{'' if number == 1 else chr(10)}task graph {number}")
            for line in measured.lines():
                echo(line)
        if len(shown) > 1 and first:
            echo(f"\nfirst by rule: {', '.join(f'{rule} {number}' for rule, number in first.items())}")
    bad = [measured for measured in shown if measured.graph is None]
    if bad:
        complain(
            f"{read.name}: {len(bad)} of {len(shown)} can't be read."
            if len(shown) > 1
            else " ".join(bad[0].reading.problems)
        )
    return NOT_WELL if bad else OK


def _ranking(graphs: Sequence[TaskGraph | None]) -> dict[str, int]:
    """By each rule the number of the graph that comes first, counted from 1."""
    there = [(number, graph) for number, graph in enumerate(graphs, 1) if graph is not None]
    plans = [graph for _, graph in there]
    return {name: there[ranked(plans, rule)[0][0]][0] for name, rule in RULES.items()} if plans else {}


class _Measured:
    """One graph with its figures."""

    def __init__(self, reading: PlanReading, failure_probability: float, runs: int | None, seed: int) -> None:
        self.reading, self.graph = reading, reading.graph
        self.measures: Measures | None = None
        self.simulation: Simulation | None = None
        self.simulated = runs is not None
        if self.graph is not None:
            ids, edges = self.graph.ids, self.graph.edges
            self.measures = measure(ids, edges, failure_probability)
            if runs is not None:
                self.simulation = simulate(ids, edges, dict.fromkeys(ids, failure_probability), runs, seed)

    def _figures(self) -> dict[str, float]:
        """By the rules that look at one graph alone."""
        if self.graph is None:
            return {}
        paths = RULES["code"].figures([self.graph])[0].shown["path_parallelism"]
        return {"path_parallelism": paths, **RULES["expected"].figures([self.graph])[0].shown}

    def as_json(self) -> dict[str, Any]:
        if self.measures is None:
            return {"problems": list(self.reading.problems)}
        shown = self.measures.as_json()
        figures = self._figures()
        return {
            "workflow": shown,
            "graph": shown,
            "path_parallelism": figures.pop("path_parallelism"),
            "expected": figures,
            **({"simulated": None if self.simulation is None else self.simulation.as_json()} if self.simulated else {}),
            "notes": list(self.reading.notes),
        }

    def lines(self) -> Iterator[str]:
        if self.measures is None:
            yield from map(visible, self.reading.problems)
            return
        yield from metrics_table(Metrics(self.measures), self.simulation)
        figures = self._figures()
        yield f"\nparallelism as Flow's code counts it (paths / steps): {figures['path_parallelism']:.4g}"
        parts = ", ".join(f"{name} {figures[name]:.4g}" for name in ("time", "work", "rework"))
        yield f"rank by expected: {figures['score']:.4g} ({parts})"
        for note in self.reading.notes:
            yield f"note: {visible(note)}"
