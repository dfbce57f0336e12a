"""What there is to say about the nodes and edges of one workflow."""

from __future__ import annotations

from collections.abc import Sequence

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.prompts import Prompt
from merrow_analysis.definitions.settings import Agent
from merrow_analysis.graph.instructions import agent_of, memory_of, prompt_of, role_of
from merrow_analysis.graph.measures.metrics import metrics
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.placing.ports import INPUT_OUTPUT
from merrow_analysis.graph.resolve import Claim, environment_name, named_tools, store_name
from merrow_analysis.ide.texts import describe
from merrow_analysis.ide.texts.box_text import edge_notes
from merrow_analysis.ide.texts.environment_text import environment_text
from merrow_analysis.ide.texts.markup import CodeSpan, Inline, Markup
from merrow_analysis.ide.texts.memory_text import memory_text
from merrow_analysis.ide.texts.person_text import person_text
from merrow_analysis.ide.texts.store_text import store_text
from merrow_analysis.ide.texts.tool_text import tool_text
from merrow_analysis.ide.texts.validator_text import validation_text
from merrow_analysis.rules.reporting import claim_range

_MOST_EDGES = 12
_MOST_TOOLS = 8
_KINDS = {"input": "an input of the workflow", "output": "an output of the workflow", "unknown": "operator not known"}


def node_text(analysis: Analysis, node: TypedNode) -> Markup:
    """A node: operator and signature, how it is known, parameters, prompt, promise, edges."""
    spec = node.spec
    what: Inline = (" is a ", CodeSpan(spec.name), ".") if spec is not None else (f": {_KINDS[node.kind]}.",)
    if spec is not None and node.resolution.plain is not None:
        what = (" names no operator and is read as a ", CodeSpan(spec.name), ".")
    elif node.implied:
        what = (f": {_KINDS[node.kind]}, which is not drawn.",)
    text = Markup().say(CodeSpan(node.id), *what)
    if spec is not None or node.kind in ("input", "output"):
        text.block(describe.signature_of(node))
    if spec is not None:
        describe.add_note(text, spec)
    if spec is not None and spec.is_call:
        text.join(describe.called_file(node))
    if node.conflicting:
        text.say("Its declarations contradict each other, so its ports are not checked.")
    text.join(_known_by(node))
    text.join(_parameters(node))
    text.join(_agent(analysis, node))
    is_human = spec is not None and spec.is_human
    if is_human:
        text.join(person_text(analysis, node))
    elif node.kind != "decision":
        text.join(_prompt(analysis, node))
    environment = environment_name(node.resolution)
    if environment is not None:
        text.join(environment_text(analysis.settings, environment))
    store = analysis.settings.stores.get(store_name(node.resolution) or "")
    if store is not None:
        text.join(store_text(analysis, store))
    for used in named_tools(node.resolution)[:_MOST_TOOLS]:
        text.join(tool_text(analysis, used.name))
    text.join(validation_text(analysis, node))
    text.join(_asked(analysis, node))
    text.join(memory_text(analysis, node))
    declared = node.resolution.declared
    if node.is_promise and not is_human:
        text.say("Its author promises by ", CodeSpan("returns"), " that it answers with ", CodeSpan(declared), ".")
    return text.join(_edges("In", [*node.incoming, *node.again_in])).join(_edges("Out", node.ways))


def _known_by(node: TypedNode) -> Markup:
    words = {"op": "its metadata", "class": "its class", "label": "its label"}
    lines: list[Inline] = []
    for claim in node.resolution.claims:
        meant = "" if claim.spec is not None else ", which is not an operator"
        line = claim_range(node.flow, claim).start.line + 1
        lines.append((f"{words[claim.place]} ", CodeSpan(_written(claim)), f" on line {line}{meant}"))
    if not lines:
        return Markup()
    if len(lines) == 1:
        return Markup().say("The operator is named by ", *lines[0], ".")
    return Markup().say("The operator is named by").items(lines)


def _written(claim: Claim) -> str:
    return f"op: {claim.word}" if claim.place == "op" else claim.word


def _parameters(node: TypedNode) -> Markup:
    lines: list[Inline] = []
    for key, parameter in node.resolution.parameters.items():
        told = "prompt" if node.spec is None else node.spec.prompt_key
        if key == "op" or (key == told and isinstance(parameter.value, str)):
            continue
        where = "label" if parameter.block is None else "metadata"
        lines.append((CodeSpan(f"{key}:"), " ", describe.literal(parameter.value), f" ({where})"))
    return Markup().say("Parameters:").items(lines) if lines else Markup()


def _prompt(analysis: Analysis, node: TypedNode) -> Markup:
    prompt = prompt_of(node, analysis.prompts)
    if isinstance(prompt, Prompt):
        return describe.prompt(prompt)
    if isinstance(prompt, str):
        own = "prompt" in node.resolution.parameters
        whose = "Its own prompt:" if own else "The prompt of its operator:"
        return Markup().say(whose).block(describe.shortened_prompt(prompt))
    role = role_of(node)
    if role is not None and node.kind == "operator":
        return Markup().say(
            "No prompt is named ", CodeSpan(role[1]), "; the model is sent a sentence made from this name."
        )
    return Markup()


def agent_text(analysis: Analysis, agent: Agent) -> Markup:
    """An agent: what its nodes' model is told of it, its settings, and who they are."""
    text = Markup().say("Agent ", CodeSpan(agent.name), ".").block(describe.shortened_prompt(agent.text))
    settings = (("model", agent.model), ("temperature", agent.temperature), ("instances", agent.instances))
    facts: list[Inline] = [
        (CodeSpan(f"{key}:"), " ", describe.literal(value)) for key, value in settings if value is not None
    ]
    nodes = [] if analysis.typed is None else analysis.typed.nodes
    names = [node.id for node in nodes if agent_of(node, analysis.settings) is agent]
    pieces = [piece for name in names[:_MOST_EDGES] for piece in (", ", CodeSpan(name))][1:]
    facts.append(("Nodes: ", *pieces, ", ..." if len(names) > _MOST_EDGES else "") if names else ("No node uses it.",))
    return text.items(facts)


def _agent(analysis: Analysis, node: TypedNode) -> Markup:
    """Who does it, with what is told before its prompt."""
    agent = agent_of(node, analysis.settings)
    if agent is None or node.kind != "operator":
        return Markup()
    return (
        Markup()
        .say("Agent ", CodeSpan(agent.name), "; its text comes first in the prompt:")
        .block(describe.shortened_prompt(agent.text))
    )


_REMEMBERS = {
    "all": "the results of all steps before it",
    "agent": "the earlier results of its own agent",
    "last": "the last results before it",
    "tokens": "the latest results before it",
    "summary": "a summary of the results before it",
}


def _asked(analysis: Analysis, node: TypedNode) -> Markup:
    """What a plain step, or a Decision that asks, will do."""
    if node.kind == "decision":
        return _decided(analysis, node)
    if node.resolution.plain is None:
        return Markup()
    remembered = _REMEMBERS.get(memory_of(node, analysis.settings).kind)
    sees = "what its arrows bring" + ("" if remembered is None else f" and {remembered}")
    return Markup().say(f"A model is asked: this prompt, with {sees}.")


def _decided(analysis: Analysis, node: TypedNode) -> Markup:
    text = Markup()
    if node.asks:
        labels = node.cases.labels if node.cases is not None else ()
        text.say("A model is asked which way to take:").block(describe.shortened_prompt(node.resolution.ask or ""))
        ways: list[str | CodeSpan] = []
        for label in labels:
            ways += [", " if ways else "", CodeSpan(label)]
        remembered = _REMEMBERS.get(memory_of(node, analysis.settings).kind)
        sees = "what its arrows bring" + ("" if remembered is None else f" and {remembered}")
        text.say(f"It sees {sees}. Its answer is one of ", *ways, "; what arrived continues that way.")
    elif node.resolution.plain is not None:
        text.say("It is decided by ", CodeSpan(decided_by(node) or "what arrives"), ".")
    return text


def decided_by(node: TypedNode) -> str | None:
    """What decides at a Decision that asks no model, as ``REVIEW.result``; None where that isn't known."""
    if node.resolution.expression is not None:
        return f"if: {node.resolution.expression}"
    for edge in node.incoming:
        for feed in edge.feeds:
            if feed.port == "when":
                output = feed.output if feed.output and edge.source.kind == "operator" else None
                return edge.source.id if output is None else f"{edge.source.id}.{output}"
    return None


def _edges(title: str, edges: list[TypedEdge]) -> Markup:
    if not edges:
        return Markup()
    lines = [edge_line(edge) for edge in edges[:_MOST_EDGES]]
    if len(edges) > _MOST_EDGES:
        lines.append((f"{len(edges) - _MOST_EDGES} more",))
    return Markup().say(f"{title}:").items(lines)


def edge_line(edge: TypedEdge) -> Inline:
    """``A.response -> B.input : Text``, and how that is known."""
    if not edge.feeds:
        why = "order only" if edge.order_only else "no port found"
        words = [f"case {edge.case_label}"] if edge.case_label else []
        words += [edge.word] if edge.word is not None else []
        case = f" ({', '.join(words)})" if words else ""
        return CodeSpan(f"{edge.source.id} -> {edge.target.id}"), f": {why}{case}"
    pieces: list[str] = []
    for number, feed in enumerate(edge.feeds):
        shown = feed.output is not None and not (edge.source.kind == "input" and feed.output == INPUT_OUTPUT)
        output = f".{feed.output}" if shown else ""
        pieces += [
            ", " if number else "",
            CodeSpan(f"{edge.source.id}{output} -> {edge.target.id}.{feed.port} : {feed.type or '?'}"),
        ]
    case = f", case {edge.case_label}" if edge.case_label else ""
    case += f", {edge.word}" if edge.word is not None else ""
    return (*pieces, f" ({'inferred' if edge.inferred else 'written'}{case})")


def edges_text(graph: TypedGraph, edges: Sequence[TypedEdge]) -> Markup:
    """The edges of one arrow: from which output to which port, of what type; what a word of Loops and Maps means there."""
    lines = [edge_line(edge) for edge in edges]
    text = Markup().say(*lines[0]) if len(lines) == 1 else Markup().items(lines)
    for note in dict.fromkeys(note for edge in edges for note in edge_notes(graph, edge)):
        text.say(*note)
    return text


def metrics_text(analysis: Analysis) -> Markup:
    """The figures of the whole file."""
    typed = analysis.typed
    figures = metrics(typed if typed is not None else analysis.flow)
    measures = figures.workflow or figures.graph
    text = Markup().say(
        "Workflow" if typed is not None else "Flowchart without workflow",
        f": {measures.nodes} ",
        f"{'subtasks' if typed is not None else 'nodes'}, {measures.edges} edges between them.",
    )
    lines: list[Inline] = []
    for name, value in (
        ("depth", measures.depth),
        ("width", measures.width),
        ("largest set that can run at once", measures.max_antichain),
        ("average parallelism", measures.p_avg),
        ("dependency complexity", measures.c_dependency),
        ("expected completed subtasks", measures.expected_exact),
    ):
        if value is not None:
            lines.append((f"{name}: ", CodeSpan(f"{value:g}" if isinstance(value, int) else f"{value:.2f}")))
    if measures.critical_path:
        lines.append(("longest path: ", CodeSpan(" -> ".join(measures.critical_path))))
    if figures.calls is not None:
        least, most = figures.calls.least, figures.calls.most
        most_said = f"{least} or more" if most is None else f"{least} to {most}"
        lines.append(("calls in a run: ", CodeSpan(str(most) if least == most else most_said)))
    if figures.promises:
        lines.append(("promised types: ", CodeSpan(str(figures.promises))))
    text.items(lines)
    return text if measures.undefined is None else text.say(measures.undefined)


def uses_of_prompt(analysis: Analysis, name: str) -> int:
    """How many nodes name a prompt."""
    if analysis.typed is None:
        return 0
    wanted = name.strip().casefold()
    named = (role_of(node) for node in analysis.typed.nodes)
    return sum(1 for role in named if role is not None and role[1].casefold() == wanted)
