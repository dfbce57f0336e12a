"""Fixes of texts that nobody meant to write: nothing is raised, menus stay short, edits stay at their place."""

from __future__ import annotations

import pytest

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.markdown import find_fences
from merrow_analysis.text import apply_edits, split_lines

HEAD = "flowchart TD\n    PROBLEM([Problem]):::Interface\n    RETURN([Answer]):::Interface\n    classDef Interface fill:#eee\n"
MOST = 12
"""Repairs of one finding that a menu may list."""
ASKED = 60
"""Findings of a text whose repairs are asked for."""

TEXTS = {
    "an arrow at the end": HEAD + "    PROBLEM -->|inp",
    "a bracket at the end": HEAD + '    A["Custom<br/>(role: wri',
    "metadata at the end": HEAD + "    A@{ op: Cust",
    "front matter at the end": "---\nworkflow:\n  prompts:\n    wri",
    "a header alone": "flowchart",
    "a class at the end": HEAD + "    A[x]:::",
    "deep subgraphs": HEAD + "".join(f"subgraph s{n}\n" for n in range(300)) + "A --> B\n" + "end\n" * 299,
    "deep Loops": HEAD + "".join(f'subgraph L{n}["Loop (max: 0)"]\n' for n in range(40)) + "A --> A\n" + "end\n" * 40,
    "deep brackets": HEAD + "A" + "[(" * 200 + "\n",
    "deep yaml": "---\n" + "".join(" " * n + "a:\n" for n in range(200)) + "---\n" + HEAD,
    "line ends of old": (HEAD + "    A --> A\n    A[x --> B\n    C:::Custmop\n").replace("\n", "\r\n"),
    "mixed line ends": HEAD.replace("\n", "\r\n") + "    A --> A\n    B --> PROBLEM\r\n    RETURN --> B\r",
    "tabs": HEAD.replace("    ", "\t") + "\tA\t-->\tA\n\tPROBLEM\t-->|inptu|\tA %% note\n",
    "a tab in front matter": "---\nworkflow:\n\tmemory: alll\n---\n" + HEAD,
    "wide characters": HEAD
    + '    数["Custom<br/>(rolle: 🙂🙂)"]:::CustmOp --> 数\n    PROBLEM -->|inptu| 数 --> RETURN\n',
    "combined characters": HEAD + "    e\u0301[a\u200db] --> e\u0301\n    A[🏳️‍🌈 --> B\n",
    "a cycle of all": HEAD + "".join(f"    A{n}[x] --> A{(n + 1) % 300}\n" for n in range(300)),
    "equal findings": HEAD + "    A --> A\n" * 300,
    "equal words": HEAD + "".join(f"    A{n}[x]:::CustmOp\n" for n in range(5_000)),
    "equal broken lines": HEAD + "    A B\n" * 5_000,
    "equal declarations": HEAD + "".join(f"    A[x{n}]\n" for n in range(5_000)),
    "equal ports": HEAD + "    R[Review]\n" + "    PROBLEM -->|probelm| R\n" * 200,
}


def concerned(one: Diagnostic, text: str) -> None:
    lines = split_lines(text)
    assert len(one.fixes) <= MOST, [fix.title for fix in one.fixes]
    for fix in one.fixes:
        assert len(fix.title) < 300
        for edit in fix.edits:
            start, end = edit.range
            assert start <= end
            assert end.line <= len(lines)
            assert start.line == len(lines) or start.column <= len(lines[start.line])
        assert apply_edits(text, fix.edits) != text, fix.title


@pytest.mark.thinned(16)
@pytest.mark.parametrize("name", TEXTS)
def test_fixes_of_hostile_texts(name: str) -> None:
    text = TEXTS[name]
    for cut in (text, text.rstrip("\r\n")):
        found = analyse(cut).diagnostics
        for one in (*found[: ASKED // 2], *found[-ASKED // 2 :]):
            concerned(one, cut)


@pytest.mark.parametrize("prefix", ["> ", "   ", "> > ", "- > "])
@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if len(text) < 3_000 and "\r" not in text])
def test_edits_of_fences_stay_in_them(name: str, prefix: str) -> None:
    inner = TEXTS[name].rstrip("\n") + "\n"
    rest = prefix.replace("-", " ")
    opening = "1. Step\n\n" if prefix == "   " else "Words\n\n"
    host = (
        f"{opening}{prefix}```mermaid\n" + "".join(rest + line for line in split_lines(inner)) + f"{rest}```\n\nEnd\n"
    )
    for fence in find_fences(host):
        for one in analyse(fence.text).diagnostics:
            for fix in one.fixes:
                wanted = apply_edits(fence.text, fix.edits)
                fixed = apply_edits(host, fence.edits_to_host(fix.edits))
                assert fixed.startswith(opening)
                assert fixed.endswith("\n\nEnd\n")
                again = find_fences(fixed)[0].text
                assert again.rstrip("\n") == wanted.rstrip("\n"), fix.title
