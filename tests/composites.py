"""Workflows with Loops and Maps, one inside the other, in the ways in which they can be written."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st


@dataclass(frozen=True)
class End:
    """Where a value comes from: a node, and what an edge that brings it says before the port."""

    node: str
    said: str | None = None


@dataclass
class Scope:
    """What a box, or the whole, has: lines of nodes and of boxes, and the edges that are written there."""

    lines: list[str] = field(default_factory=list)
    edges: list[str] = field(default_factory=list)


@st.composite
def composite_workflows(draw: st.DrawFn) -> str:
    """A valid workflow with at least one Loop or Map."""
    writer = _Writer(draw)
    return writer.whole()


class _Writer:
    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.number = 0
        self.boxes = 0
        self.below: list[str] = []
        self.edges_inside = draw(st.booleans())
        self.scopes: list[Scope] = [Scope()]
        self.home: dict[str, int] = {"PROBLEM": 0, "RETURN": 0}

    def whole(self) -> str:
        outside = self.scopes[0]
        outside.lines += ["PROBLEM([Problem]):::Interface", "RETURN([Result]):::Interface"]
        ends = self.step([End("PROBLEM")]) if self.draw(st.booleans()) else [End("PROBLEM")]
        kinds = self.draw(st.lists(st.sampled_from(["loop", "map", "step"]), min_size=1, max_size=2))
        for kind in [*kinds, "loop"] if set(kinds) == {"step"} else kinds:
            ends = self.part(kind, ends, 0)
        if len(ends) > 1 and self.draw(st.booleans()):
            ends = self.step(ends)
        self.edges(ends, "RETURN")
        lines = [*outside.lines, *self.below, *outside.edges]
        body = "".join(f"    {line}\n" for line in lines)
        return f"flowchart TD\n{body}    classDef Interface fill:#e2e2f2\n"

    def part(self, kind: str, ends: list[End], depth: int) -> list[End]:
        if kind == "step" or depth > 2:
            return self.step(ends)
        return self.loop(ends, depth) if kind == "loop" else self.map(ends, depth)

    def inner(self, ends: list[End], depth: int) -> str:
        """Something inside a box that ends at one node."""
        kind = self.draw(st.sampled_from(["none", "step", "loop", "map"] if depth < 2 else ["none", "step"]))
        if kind == "none":
            return ends[0].node
        return self.step(self.part(kind, ends, depth + 1))[0].node

    def node(self, text: str) -> str:
        self.number += 1
        name = f"N{self.number}"
        self.home[name] = len(self.scopes) - 1
        self.scopes[-1].lines.append(name + text)
        return name

    def step(self, ends: list[End]) -> list[End]:
        name = self.node(self.draw(st.sampled_from(['["Custom<br/>(role: worker)"]', "@{ op: Custom, role: worker }"])))
        self.edges(ends, name, "input" if self.draw(st.booleans()) else None)
        if self.draw(st.integers(0, 3)) == 0 and all(end.node != "PROBLEM" for end in ends):
            self.edge("PROBLEM", name, "input")
        return [End(name)]

    def loop(self, ends: list[End], depth: int) -> list[End]:
        decides = self.draw(st.booleans())
        most = self.draw(st.sampled_from([None, 1, 2, 5]))
        self.begin("Loop", {} if most is None else {"max": str(most)})
        first = self.step(ends)[0].node
        last = self.inner([End(first)], depth)
        review = self.node('["Review<br/>"]')
        self.edge("PROBLEM", review, "problem")
        self.edge(last, review, "solution")
        if decides:
            check = self.node("{Good?}:::DecisionOp")
            self.edge(last, check, "value")
            self.edge(review, check, "result:when")
            self.edge(check, first, "no:again:input")
            if self.draw(st.booleans()):
                self.edge(review, first, "again:feedback:input")
            self.end()
            return [End(check, "yes"), End(last, "over")]
        self.edge(review, first, "again:feedback:input")
        self.end()
        reader = self.node('["Custom<br/>(role: worker)"]')
        self.edge(review, reader, "result:input")
        self.edge(last, reader, None)
        return [End(reader)]

    def map(self, ends: list[End], depth: int) -> list[End]:
        split = self.node("@{ op: Custom, role: worker, returns: 'list[Text]' }")
        self.edges(ends, split)
        parallel = self.draw(st.sampled_from([None, 2]))
        self.begin("Map", {} if parallel is None else {"parallel": str(parallel)})
        first = self.node('["Custom<br/>(role: worker)"]')
        self.edge(split, first, "each")
        last = self.inner([End(first)], depth)
        self.end()
        return self.step([End(last)])

    def begin(self, kind: str, parameters: dict[str, str]) -> None:
        self.boxes += 1
        name = f"BOX{self.boxes}"
        inside = ", ".join(f"{key}: {value}" for key, value in parameters.items())
        form = self.draw(st.sampled_from(["title", "metadata", "title" if parameters else "class"]))
        title = f'["{kind} ({inside})"]' if form == "title" else "[Some work]"
        if form == "class":
            self.below.append(f"class {name} {kind}Op")
        elif form == "metadata":
            self.below.append(f"{name}@{{ {', '.join([f'op: {kind}', *([inside] if inside else [])])} }}")
        self.scopes.append(Scope([f"subgraph {name}{title}"]))

    def end(self) -> None:
        scope = self.scopes.pop()
        lines = [scope.lines[0], *[f"    {line}" for line in (*scope.lines[1:], *scope.edges)], "end"]
        self.scopes[-1].lines += lines

    def edges(self, ends: list[End], target: str, port: str | None = None) -> None:
        for end in ends:
            self.edge(end.node, target, ":".join(part for part in (end.said, port) if part) or None)

    def edge(self, source: str, target: str, label: str | None) -> None:
        line = f"{source} -->{f'|{label}|' if label else ''} {target}"
        here = len(self.scopes) - 1
        inside = self.edges_inside and self.home[source] == self.home[target] == here
        self.scopes[here if inside else 0].edges.append(line)
