"""Small workflows for tests of runs."""

CHAIN = """\
---
workflow:
  model: test-model
  prompts: {first: "Answer the question.", second: "Shorten the answer."}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    A["Custom<br/>(role: first)"]:::CustomOp
    B["Custom<br/>(role: second)"]:::CustomOp
    RETURN([Answer]):::Interface
    PROBLEM -->|input| A
    A -->|input| B
    B --> RETURN
    classDef Interface fill:#eee
    classDef CustomOp fill:#ddd
"""


def layers(depth: int, width: int) -> str:
    """``depth`` layers of ``width`` Custom nodes, each fed by two of the layer before, and one that joins the last."""
    lines = ["---", "workflow:", "  model: test-model", "---", "flowchart TD", "    PROBLEM([Problem]):::Interface"]
    edges: list[str] = []
    for layer in range(depth):
        for place in range(width):
            name = f"N{layer}_{place}"
            lines.append(f'    {name}@{{ op: Custom, prompt: "Layer {layer}, place {place}.", shape: rect }}')
            before = ["PROBLEM"] if layer == 0 else [f"N{layer - 1}_{place}", f"N{layer - 1}_{(place + 1) % width}"]
            edges += [f"    {source} -->|input| {name}" for source in dict.fromkeys(before)]
    edges += [f"    N{depth - 1}_{place} -->|input| LAST" for place in range(width)]
    lines += ['    LAST@{ op: Custom, prompt: "Join them.", shape: rect }', "    RETURN([Answer]):::Interface"]
    return "\n".join([*lines, *edges, "    LAST --> RETURN", "    classDef Interface fill:#eee", ""])
