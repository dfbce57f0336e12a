"""What a dry run finds out, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from merrow_runtime.operators.questions import PlannedQuestion
from merrow_runtime.running.forecast_loops import PlannedLoop


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the most; ``most`` is None where it isn't known."""

    least: float
    most: float | None

    def to_json(self) -> dict[str, float | None]:
        return {"least": self.least, "most": self.most}


@dataclass(frozen=True, slots=True)
class Cost:
    """Calls, tokens and US dollars, the least and the most; the most is infinite where it isn't known."""

    least: tuple[float, float, float]
    most: tuple[float, float, float]
    priced: bool

    def __add__(self, other: Cost) -> Cost:
        """Both together."""
        (a, b, c), (d, e, f) = self.least, other.least
        (g, h, i), (j, k, m) = self.most, other.most
        return Cost((a + d, b + e, c + f), (g + j, h + k, i + m), self.priced and other.priced)

    @property
    def bounds(self) -> tuple[Bounds, Bounds, Bounds]:
        """The same as bounds of calls, tokens and cost."""
        calls, tokens, cost = (None if most == inf else most for most in self.most)
        return (
            Bounds(self.least[0], calls),
            Bounds(self.least[1], tokens),
            Bounds(self.least[2], cost if self.priced else None),
        )


FREE = Cost((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), priced=True)
OPEN = Cost((0.0, 0.0, 0.0), (inf, inf, inf), priced=True)


@dataclass(frozen=True, slots=True)
class PlannedTool:
    """A tool that a node may call. ``allowed`` and ``repeatable`` are the user's settings: whether nobody is asked before it is
    called, and whether it may be called again. ``hints`` are its server's, as they are pinned, which nobody checks.
    """

    name: str
    allowed: bool
    repeatable: bool
    hints: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {"allow": self.allowed, "repeatable": self.repeatable, "hints": dict(self.hints)}


@dataclass(frozen=True, slots=True)
class PlannedNode:
    """A node in the order of the run. ``runs`` is False for one that only some cases of Decisions reach.

    ``questions`` are all that it asks or may ask, as they would be sent; ``samples`` is how often it does. ``times`` bounds how
    often it runs, in turns and for items of all composites around it; None for a node in none. Of a Call, ``inside`` are the
    nodes of its file, and ``costs`` what that may use.
    """

    node: str
    operator: str
    model: str | None
    runs: bool
    questions: tuple[PlannedQuestion, ...] = ()
    samples: int = 1
    times: Bounds | None = None
    inside: tuple[PlannedNode, ...] = ()
    costs: Cost | None = None
    why_open: str | None = None
    """Why it can't be known what it may use, in a sentence."""
    played: bool = False
    """Whether it says to do something outside, which a model only plays."""
    person: str | None = None
    """What it asks a person, where it does."""
    tool: str | None = None
    """The tool that it calls, where it does, by its name in workflows."""
    offered: tuple[str, ...] = ()
    """The tools that its model may use, a person among them, in up to so many ``steps``."""
    steps: int = 0
    may: tuple[PlannedTool, ...] = ()
    """What the user lets it do with these tools."""
    embeds: int | None = None
    """How many texts of its store have to be embedded, once, beside the query each time; None where it has none embedded."""

    def to_json(self) -> dict[str, Any]:
        calls = {} if self.costs is None else {"calls": self.costs.bounds[0].to_json()}
        return {
            **calls,
            "node": self.node,
            "operator": self.operator,
            "model": self.model,
            "runs": "always" if self.runs else "by choice",
            "samples": self.samples,
            **({} if self.times is None else {"times": self.times.to_json()}),
            **({} if self.why_open is None else {"why_open": self.why_open}),
            **({"played": True} if self.played else {}),
            **({} if self.person is None else {"person": self.person}),
            **({} if self.tool is None else {"tool": self.tool}),
            **({} if self.embeds is None else {"embeds": self.embeds}),
            **({} if not self.may else {"may": {tool.name: tool.to_json() for tool in self.may}}),
            **({} if not self.offered else {"tools": {"names": list(self.offered), "steps": self.steps}}),
            "questions": [
                {
                    "step": question.step,
                    **({} if question.model is None else {"model": question.model}),
                    "messages": [{"role": message.role, "content": message.content} for message in question.messages],
                    "least": question.least,
                    "most": question.most,
                }
                for question in self.questions
            ],
        }


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a run would do, with one turn of each Loop and one item of each Map. ``calls``, ``tokens`` and ``cost_usd`` are
    bounds over all choices of Decisions, all turns and items and all repair loops; a question whose answer can't be used may be
    asked up to twice more, which they don't count. Tokens and cost are estimates, for what is not known yet has no length; the
    cost's most is None where a price is unknown. ``loops`` says what happens when turns run out. ``once`` is the part that no
    further run uses: for texts of stores that have to be embedded.
    """

    workflow: str
    endpoint: str
    nodes: tuple[PlannedNode, ...]
    calls: Bounds
    tokens: Bounds
    cost_usd: Bounds
    loops: tuple[PlannedLoop, ...] = ()
    once: Cost = FREE

    def to_json(self) -> dict[str, Any]:
        return {
            "workflow": self.workflow,
            "endpoint": self.endpoint,
            "order": [node.node for node in self.nodes],
            "nodes": [node.to_json() for node in self.nodes],
            "loops": [loop.to_json() for loop in self.loops],
            "calls": self.calls.to_json(),
            "tokens": self.tokens.to_json(),
            "cost_usd": self.cost_usd.to_json(),
        }


ONCE = Bounds(1, 1)
