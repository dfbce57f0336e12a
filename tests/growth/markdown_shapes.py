"""Shapes of Markdown with diagrams in fences."""

from __future__ import annotations

from tests.growth.shape import SHAPES, Make, Shape, numbered, workflow

# Markdown


def _markdown(name: str, make: Make) -> None:
    SHAPES[name] = Shape(name, make, markdown=True)


_FENCE = "```mermaid\nflowchart TD\nA{i} --> B\n```\n"
_markdown("fences", lambda n: "".join(numbered(_FENCE + "\n", i) for i in range(n)))
_markdown(
    "fences of workflows",
    lambda n: "".join(f"```mermaid\n{workflow(['PROBLEM --> RETURN'])}```\n\n" for i in range(n)),
)
_markdown("fences without end", lambda n: "```mermaid\nflowchart TD\n" + "A --> B\n" * n)
_markdown("openings of fences", lambda n: "```mermaid\n" * n)
_markdown("paragraphs", lambda n: "Words and words.\n\n" * n + numbered(_FENCE, 0))
_markdown("one paragraph", lambda n: "Words and words.\n" * n + numbered(_FENCE, 0))
_markdown("lists", lambda n: "".join(f"- item {i}\n" for i in range(n)) + "\n" + numbered(_FENCE, 0))
_markdown("lists inside one another", lambda n: "".join(" " * (2 * i) + "- item\n" for i in range(n)))
_markdown("quotes inside one another", lambda n: "> " * n + "```mermaid\n")
_markdown("lines of quotes", lambda n: "> words\n" * n + "\n" + numbered(_FENCE, 0))
_markdown(
    "fences in quotes",
    lambda n: "".join("> " + line + "\n" for i in range(n) for line in numbered(_FENCE, i).splitlines()) + "\n",
)
_markdown(
    "fences in lists",
    lambda n: "".join(
        "- item\n\n" + "".join(f"  {line}\n" for line in numbered(_FENCE, i).splitlines()) + "\n" for i in range(n)
    ),
)
_markdown("list marks on one line", lambda n: "- " * n + "```mermaid\n")
_markdown(
    "a long fence",
    lambda n: "# Title\n\n```mermaid\nflowchart TD\n" + "".join(f"N{i} --> N{i + 1}\n" for i in range(n)) + "```\n",
)
_markdown("HTML blocks", lambda n: "<div>\n" * n + "\n" + numbered(_FENCE, 0))
_markdown("indented code", lambda n: "    code\n" * n + "\n" + numbered(_FENCE, 0))
_markdown("backticks", lambda n: "`" * n + "mermaid\nflowchart TD\nA-->B\n")
