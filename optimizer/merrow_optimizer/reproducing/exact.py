"""The papers' arithmetic, worked out by the functions that Merrow plans, searches and measures with: no model is needed.

What is expected, to the last printed digit, is beside the papers' figures in their files. A figure that the paper itself has
otherwise is a contradiction, which is shown and is no failure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

from merrow_analysis.graph.measures.measures import Measures, measure
from merrow_optimizer.planning.plan_reader import PlanBounds, read_plans
from merrow_optimizer.planning.ranking import RULES, ranked
from merrow_optimizer.planning.task_graph import PlannedTask, TaskGraph
from merrow_optimizer.reproducing.papers import Paper, Row, decimals
from merrow_optimizer.search.stopping import Convergence
from merrow_optimizer.search.strategies.evolve import EvolveSettings
from merrow_optimizer.search.strategies.rounds import chances

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Check:
    """One figure: what Merrow ``computed``, what was ``expected``, what the ``paper`` prints. ``says`` explains a contradiction.
    ``computed`` is None where what it needs is not here, and ``says`` what that is.
    """

    name: str
    source: str
    computed: str | None
    expected: str
    paper: str
    says: str = ""

    @property
    def is_right(self) -> bool | None:
        """Whether it is as expected; None where it was not checked."""
        return None if self.computed is None else self.computed == self.expected

    @property
    def contradicts(self) -> bool:
        """Whether the paper prints something else than follows."""
        return self.computed is not None and self.paper != self.expected

    def to_json(self) -> dict[str, Any]:
        """As ``--exact --format json`` prints it."""
        return {
            "name": self.name,
            "source": self.source,
            "computed": self.computed,
            "expected": self.expected,
            "paper": self.paper,
            "right": self.is_right,
            "contradiction": self.contradicts,
            "says": self.says,
        }


def exact(paper: Paper, data: Path | None = None) -> Iterator[Check]:
    """All that can be checked of a paper. ``data`` is the folder with files that some need."""
    for spec in paper.checks:
        for case in _cases(paper, spec):
            yield _checked(paper, case, data)


def _cases(paper: Paper, spec: Json) -> Iterator[dict[str, Any]]:
    """A check for each of the systems or graphs that it names; its ``expected`` and ``paper`` are then lists, or one for all."""
    subjects = spec.get("each") or spec.get("graphs")
    if subjects is None:
        yield {**spec, "paper": spec.get("paper", spec["expected"])}
        return
    for number, subject in enumerate(subjects):
        case = {key: value for key, value in spec.items() if key not in ("each", "graphs")}
        for key in ("expected", "paper"):
            if isinstance(spec.get(key), list):
                case[key] = spec[key][number]
        if "each" in spec:
            row = paper.rows[f"{subject}-{spec.get('column', 'average')}"]
            case |= {
                "of": [row.id, *([spec["to"]] if "to" in spec else [])],
                "name": spec["name"].format(system=row.system),
            }
            case["expected"] = case["expected"].format(figure=row.figure)
        else:
            case |= {"graph": subject, "name": spec["name"].format(graph=subject)}
        case.setdefault("paper", case["expected"])
        yield case


def _checked(paper: Paper, spec: Json, data: Path | None) -> Check:
    computed, says = _COMPUTED[spec["compute"]](paper, spec, data)
    return Check(spec["name"], spec["source"], computed, spec["expected"], spec["paper"], says or spec.get("says", ""))


Found = tuple[str | None, str]
"""A figure as it is printed, and what is to be said beside it."""


def _printed(value: Decimal | float, like: str) -> str:
    """A number with as many digits as another that is printed; halves are rounded up, as people do."""
    digits = Decimal(1).scaleb(-decimals(like))
    exactly = value if isinstance(value, Decimal) else Decimal(repr(round(value, 12)))
    shown = exactly.quantize(digits, ROUND_HALF_UP)
    return str(abs(shown) if shown == 0 else shown)


def _figure(row: Row) -> Decimal:
    assert row.figure is not None  # noqa: S101 (the papers' files)
    return Decimal(row.figure)


def _figures(paper: Paper, spec: Json) -> list[Decimal]:
    return [_figure(paper.rows[name]) for name in spec["of"]]


def _mean(values: Sequence[Decimal]) -> Decimal:
    return sum(values, Decimal(0)) / len(values)


def _average(paper: Paper, spec: Json, _: Path | None) -> Found:
    row = paper.rows[spec["of"][0]]
    prefix = row.id.removesuffix(row.column)
    parts = [f"{prefix}{column}" for column in spec["columns"]] if "columns" in spec else row.average_of
    return _printed(_mean([_figure(paper.rows[name]) for name in parts]), spec["expected"]), ""


def _mean_of_values(_: Paper, spec: Json, __: Path | None) -> Found:
    return _printed(_mean([Decimal(value) for value in spec["values"]]), spec["expected"]), ""


def _difference(paper: Paper, spec: Json, _: Path | None) -> Found:
    first, other = _figures(paper, spec)
    return _printed(first - other, spec["expected"]), ""


def _gain(paper: Paper, spec: Json, _: Path | None) -> Found:
    first, other = _figures(paper, spec)
    return _printed((first / other - 1) * 100, spec["expected"]), ""


def _share(paper: Paper, spec: Json, _: Path | None) -> Found:
    return _printed(_share_of_costs(paper, spec), spec["expected"]), ""


def _saved(paper: Paper, spec: Json, _: Path | None) -> Found:
    return _printed(100 - _share_of_costs(paper, spec), spec["expected"]), ""


def _share_of_costs(paper: Paper, spec: Json) -> Decimal:
    first, other = (Decimal(paper.rows[row].cost or "nan") for row in spec["of"])
    return first / other * 100


def _ratio(paper: Paper, spec: Json, _: Path | None) -> Found:
    part, whole = _figures(paper, spec)
    return _printed(part / whole * 100, spec["expected"]), ""


def _best(paper: Paper, spec: Json, _: Path | None) -> Found:
    return max(spec["of"], key=lambda name: _figure(paper.rows[name])), ""


def _least(paper: Paper, spec: Json, _: Path | None) -> Found:
    return min(spec["of"], key=lambda name: _figure(paper.rows[name])), ""


def _fifteenth(paper: Paper, spec: Json, _: Path | None) -> Found:
    (percentage,) = _figures(paper, spec)
    return _printed(Decimal(round(percentage * 15 / 100)) * 100 / 15, spec["expected"]), ""


def _round_score(_: Paper, spec: Json, __: Path | None) -> Found:
    right = round(spec["scores"][str(spec["round"])] * spec["items"])
    return _printed(Decimal(right) / spec["items"], spec["expected"]), ""


def _chances(_: Paper, spec: Json, __: Path | None) -> Found:
    settings = EvolveSettings()
    like = spec["expected"].partition(",")[0]
    return ", ".join(_printed(chance, like) for chance in chances(spec["scores"], settings.alpha, settings.uniform)), ""


def _converged(_: Paper, spec: Json, __: Path | None) -> Found:
    return "yes" if Convergence(z=0).reached([(score, 0.0) for score in spec["scores"]]) else "no", ""


def _measures(paper: Paper, spec: Json) -> Measures:
    return measure(_NODES, paper.graphs[spec["graph"]], spec.get("failure", 0.1))


_NODES = "ABCD"


def _graph(paper: Paper, name: str) -> TaskGraph:
    edges = paper.graphs[name]
    return TaskGraph(
        tuple(
            PlannedTask(node, node, after=tuple(before for before, after in edges if after == node)) for node in _NODES
        )
    )


def _of_graph(figure: Callable[[Measures], float | None]) -> Callable[[Paper, Json, Path | None], Found]:
    def computed(paper: Paper, spec: Json, _: Path | None) -> Found:
        value = figure(_measures(paper, spec))
        assert value is not None  # noqa: S101 (none of the papers' graphs has a cycle)
        return _printed(value, spec["expected"]), ""

    return computed


def _path_parallelism(paper: Paper, spec: Json, _: Path | None) -> Found:
    (figures,) = RULES["code"].figures([_graph(paper, spec["graph"])])
    return _printed(figures.shown["path_parallelism"], spec["expected"]), ""


def _first(paper: Paper, spec: Json, _: Path | None) -> Found:
    order = ranked([_graph(paper, name) for name in spec["among"]], RULES[spec["rule"]])
    return spec["among"][order[0][0]], ""


_EQUAL = 1e-9


def _published(_: Paper, spec: Json, data: Path | None) -> Found:
    """Plans that a notebook printed, by the code's count of parallelism: ``data`` has them with what was printed."""
    files = [] if data is None else sorted(data.glob(spec["files"]))
    if not files:
        return None, f"Not checked: --data has no file {spec['files']}."
    right = count = 0
    for file in files:
        try:
            here, there = _counted_alike(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None, f"Not checked: {file} is not a file of published candidates."
        right, count = right + here, count + there
    said_all = f"{right} of {count} candidates in {len(files)} files."
    return "all" if right == count else f"{right} of {count}", f"{said_all} {spec['says']}"


def _counted_alike(text: str) -> tuple[int, int]:
    """Of how many of the candidates in a file the printed parallelism is the code's count, and how many there are."""
    known = json.loads(text)
    read = read_plans(text, PlanBounds(needs_agents=False))
    accepted = [
        reading.graph for reading, about in zip(read, known["candidates"], strict=True) if about["accepted_by_original"]
    ]
    figures = RULES["code"].figures([graph for graph in accepted if graph is not None])
    printed = known["recorded_p_avg"]
    pairs = zip(figures, printed, strict=True)
    return sum(abs(shown.shown["path_parallelism"] - expected) < _EQUAL for shown, expected in pairs), len(printed)


_COMPUTED: Mapping[str, Callable[[Paper, Json, Path | None], Found]] = {
    "average": _average,
    "mean": _mean_of_values,
    "difference": _difference,
    "gain": _gain,
    "share": _share,
    "saved": _saved,
    "ratio": _ratio,
    "best": _best,
    "least": _least,
    "nearest fifteenth": _fifteenth,
    "score of round": _round_score,
    "chances": _chances,
    "converged": _converged,
    "expected completed": _of_graph(lambda measures: measures.expected_product),
    "exactly completed": _of_graph(lambda measures: measures.expected_exact),
    "parallelism": _of_graph(lambda measures: measures.p_avg),
    "complexity": _of_graph(lambda measures: measures.c_dependency),
    "path parallelism": _path_parallelism,
    "first by rank": _first,
    "published candidates": _published,
}
