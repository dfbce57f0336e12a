"""A Hypothesis strategy for workflows with several Decisions in several places, most of them without errors."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st
from tests.analysis.workflows import workflow

_CASES = [["one", "else"], ["one", "two", "else"], ["one", "two", "three", "else"]]


@dataclass
class _Draft:
    """A workflow in the making; ``open`` are the nodes whose answers are still to be used, all live in the same cases."""

    draw: st.DrawFn
    lines: list[str] = field(default_factory=list)
    count: int = 0
    decisions: int = 0

    def node(self, operator: str, *sources: str) -> str:
        """Declare a node and draw an unlabelled edge from each source."""
        self.count += 1
        name = f"N{self.count}"
        self.lines.append(f'{name}["{operator}"]:::{operator}Op')
        self.lines += [f"{source} --> {name}" for source in sources]
        return name

    def step(self, source: str) -> str:
        """One node behind ``source``, of an operator with one port or more."""
        match self.draw(st.sampled_from(["Custom", "Custom", "Format", "ScEnsemble", "AnswerGenerate"])):
            case "Format":
                name = self.node("Format")
                self.lines += [f"{source} -->|solution| {name}", f"PROBLEM -->|problem| {name}"]
                return name
            case "ScEnsemble":
                return self.node("ScEnsemble", *(self.node("Custom", source) for _ in range(2)))
            case operator:
                return self.node(operator, source)

    def branch(self, source: str, depth: int) -> str:
        """A Decision on ``source``, a piece of work behind each case, and one node that takes what the case brought."""
        self.decisions += 1
        name = f"D{self.decisions}"
        self.lines += [f"{name}{{which?}}:::DecisionOp", f"{source} --> {name}"]
        carries = self.draw(st.booleans())
        if carries:
            self.lines.append(f"{self.draw(st.sampled_from([source, 'PROBLEM']))} -->|value| {name}")
        ends = []
        for case in self.draw(st.sampled_from(_CASES)):
            first = self.node("Custom")
            self.lines.append(f"{name} -->|{case}| {first}")
            if not carries or self.draw(st.booleans()):
                self.lines.append(f"PROBLEM -->|input| {first}")
            ends.append(self.work(first, depth + 1))
        if self.draw(st.booleans()):
            return self.node("Custom", *ends)
        merged = self.node("Review")
        self.lines += [f"{end} -->|solution| {merged}" for end in ends]
        self.lines.append(f"PROBLEM -->|problem| {merged}")
        return self.node("Custom", merged)

    def work(self, source: str, depth: int) -> str:
        """Steps and Decisions one after the other."""
        for _ in range(self.draw(st.integers(0, 2 if depth < 2 else 1))):
            branches = depth < 2 and self.decisions < 5 and self.draw(st.booleans())
            source = self.branch(source, depth) if branches else self.step(source)
        return source


@st.composite
def decision_workflows(draw: st.DrawFn, least: int = 2) -> str:
    """A workflow with ``least`` to about six Decisions: one behind the other, one inside another, side by side, joined.

    Some have edges too many or too few, which may make them wrong.
    """
    draft = _Draft(draw)
    last = draft.branch(draft.node("Custom", "PROBLEM"), 1)
    ends = [last]
    while draft.decisions < least or draw(st.integers(0, 3)) == 0:
        if draw(st.booleans()):
            ends = [draft.branch(draft.node("Custom", *ends), 1)]
        else:
            ends.append(draft.branch(draft.node("Custom", "PROBLEM"), 1))
    draft.lines.append(f"{draft.node('Custom', *ends)} --> RETURN")
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        sources = [f"N{number + 1}" for number in range(draft.count)]
        if draw(st.booleans()):
            label = draw(st.sampled_from(["", "", "|input|", "|problem|"]))
            draft.lines.append(f"{draw(st.sampled_from(sources))} -->{label} {draw(st.sampled_from(sources))}")
        else:
            del draft.lines[draw(st.integers(0, len(draft.lines) - 1))]
    return workflow(*draft.lines)
