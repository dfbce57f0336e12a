"""A Hypothesis strategy for valid workflows: each required port has one source of its type, every answer is used."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

ROLES = ["solver", "critic", "simple_solver_1", "planner", "Über"]
ARROWS = ["-->", "--->", "==>", "-.->"]


@dataclass
class _Draft:
    """A workflow in the making: ``open`` holds the nodes whose output nobody uses yet, with its type."""

    draw: st.DrawFn
    declarations: list[str] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    edges: list[str] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    operators: set[str] = field(default_factory=set)

    def node(self, operator: str, output: str, inputs: list[tuple[str, str | None]], rest: str = "") -> str:
        """Declare a node and the edges into it, each from a source and to a port (None for its bulk port)."""
        name = f"{operator.upper()}_{len(self.outputs)}"
        self.operators.add(operator)
        self.outputs[name] = output
        self._declare(name, operator, rest)
        for source, port in inputs:
            self.edge(source, name, port)
        self.unused.append(name)
        return name

    def _declare(self, name: str, operator: str, rest: str) -> None:
        how = self.draw(st.sampled_from(["label", "metadata", "colons"]))
        if how == "metadata":
            self.declarations.append(f"{name}@{{ op: {operator}{rest and ', ' + rest} }}")
            return
        label = f'["{operator}<br/>{rest and f"({rest})"}"]'
        if how == "colons":
            self.declarations.append(f"{name}{label}:::{operator}Op")
        else:
            self.declarations.append(name + label)
            self.classes.append(f"class {name} {operator}Op")

    def edge(self, source: str, target: str, port: str | None) -> None:
        arrow = self.draw(st.sampled_from(ARROWS))
        self.edges.append(f"{source} {arrow}{f'|{port}|' if port else ''} {target}")
        if source in self.unused:
            self.unused.remove(source)

    def some(self, *types: str) -> str | None:
        """A node with an output of one of these types, the newest unused ones first."""
        fitting = [name for name, output in self.outputs.items() if output in types]
        fitting.sort(key=lambda name: name not in self.unused)
        return self.draw(st.sampled_from(fitting[:4])) if fitting else None


TEXTS = ("Text", "Answer", "Code", "Problem")


def _add_node(draft: _Draft) -> None:
    draw = draft.draw
    kind = draw(
        st.sampled_from(["Custom", "Custom", "AnswerGenerate", "Programmer", "Review", "Format", "Test", "Code"])
    )
    text, code = draft.some(*TEXTS) or "PROBLEM", draft.some("Code")
    if kind == "AnswerGenerate":
        draft.node(kind, "Answer", [(text, None)])
    elif kind == "Programmer":
        analysis = draft.some("Text")
        draft.node(kind, "Answer", [("PROBLEM", "problem"), *([(analysis, "analysis")] if analysis else [])])
    elif kind == "Review":
        solution = draft.some("Text", "Answer", "Code")
        if solution is None:
            return
        review = draft.node(kind, "Feedback", [(solution, "solution"), ("PROBLEM", "problem")])
        inputs: list[tuple[str, str | None]] = [(solution, "solution"), ("PROBLEM", "problem"), (review, "feedback")]
        draft.node("Revise", draft.outputs[solution], inputs)
    elif kind == "Format":
        solution = draft.some("Text", "Answer", "Code")
        if solution is not None:
            draft.node(kind, "Answer", [(solution, "solution"), ("PROBLEM", "problem")])
    elif kind == "Test" and code is not None:
        ports = [(code, "solution"), ("PROBLEM", "problem"), ("ENTRY_POINT", "entry_point")]
        draft.node(kind, "Code", [(source, port) for source, port in ports])
    elif kind == "Code":
        draft.node("CustomCodeGenerate", "Code", [("PROBLEM", "problem"), ("ENTRY_POINT", "entry_point")])
    else:
        sources = {text, draft.some(*TEXTS) or text}
        draft.node(
            "Custom", "Text", [(source, None) for source in sorted(sources)], f"role: {draw(st.sampled_from(ROLES))}"
        )


def _gather(draft: _Draft) -> str:
    """One node that carries what is still unused."""
    while len(draft.unused) > 1:
        first, second = draft.unused[:2]
        if draft.draw(st.booleans()):
            draft.node("ScEnsemble", "Text", [(first, None), (second, None)])
        else:
            draft.node("Custom", "Text", [(first, None), (second, None)], "role: merger")
    return draft.unused[0]


def _finish(draft: _Draft, last: str) -> None:
    """Return the last answer, at times only after a decision on tests that it passed."""
    if draft.outputs[last] != "Code" or draft.draw(st.booleans()):
        draft.edge(last, "RETURN", None)
        return
    inputs: list[tuple[str, str | None]] = [(last, "solution"), ("PROBLEM", "problem"), ("ENTRY_POINT", "entry_point")]
    tested = draft.node("Test", "Code", inputs)
    draft.declarations.append("CHECK{passed?}")
    draft.operators.add("Decision")
    draft.classes.append("class CHECK DecisionOp")
    draft.edge(tested, "CHECK", None)
    draft.edge("CHECK", "RETURN", "Passed")
    again = draft.node("Custom", "Text", [("CHECK", "Failed")], "role: fixer")
    draft.edge(again, "RETURN", None)


@st.composite
def workflows(draw: st.DrawFn) -> str:
    """The text of a valid workflow (no diagnostic of severity error) of a few to some dozen nodes."""
    draft = _Draft(draw)
    draft.node("Custom", "Text", [("PROBLEM", None)], f"role: {draw(st.sampled_from(ROLES))}")
    for _ in range(draw(st.integers(0, 8))):
        _add_node(draft)
    _finish(draft, _gather(draft))
    interfaces = ["PROBLEM([Problem])", "RETURN([Return response & cost])"]
    if any(edge.startswith("ENTRY_POINT") for edge in draft.edges):
        interfaces.insert(1, "ENTRY_POINT([Entry point])")
    names = [interface.split("(")[0] for interface in interfaces]
    definitions = [
        f"classDef {operator}Op fill:#d0e1f9,stroke:#4378a2,stroke-width:2px" for operator in sorted(draft.operators)
    ]
    body = [
        *interfaces,
        *draft.declarations,
        *definitions,
        "classDef Interface fill:#e2e2f2",
        f"class {','.join(names)} Interface",
        *draft.classes,
        *draft.edges,
    ]
    header = draw(
        st.sampled_from(["flowchart TD", "graph LR", "---\nworkflow:\n  model: gpt-4o-mini\n---\nflowchart TD"])
    )
    return header + "\n" + "".join(f"    {line}\n" for line in body)
