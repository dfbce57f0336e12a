"""What a model has to know of the language, and prompts that worked, by domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from merrow_analysis.graph.nodes import TypedGraph

LANGUAGE = """\
A workflow is a Mermaid flowchart that Merrow runs. The rules:
- The first line is `flowchart TD`. PROBLEM and RETURN (and other inputs and outputs that are there) stay as they are.
- A node names its operator: SOLVE["Custom<br/>(role: careful_solver)"]:::CustomOp. Parameters are `key: value` in the label.
- A role names a prompt. New prompts are written into the front matter above the flowchart:
---
workflow:
  prompts:
    careful_solver: |
      Solve the problem step by step.
---
- An edge carries a value to a port: A -->|input| B; A -->|output:port| B names an output, too. Edges into Custom,
  AnswerGenerate, ensembles and RETURN need no label; edges into all others name the port.
- A vote (ScEnsemble) needs two different sources at least. Everything has to lie on a way from an input to an output.
- A value fits a port of its own type or of one above it: Problem, Answer, Code, Plan, Feedback are kinds of Text, but Text is
  not Code. No cycles.
- Custom puts its prompt before its inputs, in the order of the edges. Prompts have no placeholders and under 100 words.
- `memory` of a node shows it earlier results that no edge brings: none, all, {last: 2}, summary (one more call). It costs
  tokens. It helps a step that checks or decides; often an edge from the one result that it needs is better.
- Keep everything else of the text as it is: models, budgets, limits, types, operators, Loops and Maps.
"""

_EXAMPLES: Mapping[str, Sequence[tuple[str, str]]] = {
    "code": (
        (
            "Custom before the code is written",
            "List the inputs that are easy to get wrong: empty, single, negative, very large."
            " Say what the function must return for each. Do not write code.",
        ),
        (
            "CustomCodeGenerate",
            "Write the function in the plainest way that is right. Handle every case that is listed, and"
            " return the exact type that is asked for.",
        ),
    ),
    "math": (
        (
            "Custom that solves",
            "Name what is given and what is asked for. Solve step by step, with the unit at each step, and"
            " check the result against the question before you give it on the last line.",
        ),
        (
            "Custom that sets up equations",
            "Write the problem as equations, one a line, and say what each letter stands for. Then solve them.",
        ),
    ),
    "text": (
        (
            "Custom that answers from a passage",
            "Find the sentences that answer the question. Answer with the shortest words from"
            " them, and nothing that they do not say.",
        ),
        (
            "Custom that improves",
            "Check the draft point by point against what was asked for. Answer with the whole corrected text.",
        ),
    ),
}


def examples(graph: TypedGraph) -> list[dict[str, str]]:
    """Prompts that work in the domain of a workflow, as its operators tell it: code, sums, or texts."""
    names = {node.operator for node in graph.nodes}
    domain = "code" if names & {"CustomCodeGenerate", "Test"} else "math" if "Programmer" in names else "text"
    return [{"node": node, "prompt": prompt} for node, prompt in _EXAMPLES[domain]]
