"""What every fix promises, over the corpus, the examples of the rule pages, and workflows with damage done to them.

A safe fix removes its diagnostic, adds nothing new, changes only the lines that it names, and twice is once; an unsafe one
still makes the file no harder to read.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.shared import SHARED

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Applicability, Diagnostic, Fix, Severity
from merrow_analysis.text import apply_edits, split_lines

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "analysis/merrow_analysis/rules/pages").glob("MW*.md"))
CORPUS = SHARED / "corpus"
_FENCE = re.compile(r"^```mermaid\n(.*?)^```", re.DOTALL | re.MULTILINE)
_EXPECT = re.compile(r"^[ \t]*%%[ \t]*expect(?:-file)?:.*\n", re.MULTILINE)

HELD_BACK = {"MW104": ("MW105", "MW114", "MW117", "MW2", "MW3"), "MW107": ("MW105", "MW2", "MW3"), "MW108": ("MW114",)}
"""What is not reported before another finding is repaired, as it may follow from it: the ports of a node whose operator is not
known, and the definition of a class under an old or wrong spelling."""


def serious(diagnostics: list[Diagnostic]) -> Counter[str]:
    return Counter(d.code for d in diagnostics if d.severity is not Severity.HINT)


def check_fix(text: str, diagnostic: Diagnostic, fix: Fix) -> None:
    fixed = apply_edits(text, fix.edits)
    assert fixed != text
    before, after = analyse(text).diagnostics, analyse(fixed).diagnostics
    where = f"{diagnostic.code} {fix.title!r} on {text!r} gives {fixed!r}"
    changed = {line for edit in fix.edits for line in range(edit.range.start.line, edit.range.end.line + 1)}
    kept = [line for number, line in enumerate(split_lines(text)) if number not in changed]
    rest = iter(split_lines(fixed))
    assert all(line in rest for line in kept), f"other lines changed: {where}"
    if fix.applicability < Applicability.SAFE:
        return
    assert serious(after)[diagnostic.code] < serious(before)[diagnostic.code] or (
        diagnostic.severity is Severity.HINT
        and sum(d.code == diagnostic.code for d in after) < sum(d.code == diagnostic.code for d in before)
    ), f"still there: {where}"
    unreadable = any(code.startswith("MW0") for code in serious(before))
    if not unreadable:
        new = serious(after) - serious(before)
        for code in [code for code in new if code.startswith(HELD_BACK.get(diagnostic.code, ()))]:
            del new[code]
        assert not new, f"new {dict(new)}: {where}"
    again = [
        d
        for d in after
        if d.code == diagnostic.code and d.message == diagnostic.message and d.range == diagnostic.range
    ]
    for left in again:
        assert fix not in left.fixes, f"the same fix twice: {where}"


def check_all(text: str) -> None:
    for diagnostic in analyse(text).diagnostics:
        for fix in diagnostic.fixes:
            check_fix(text, diagnostic, fix)


def page_examples() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        for number, text in enumerate(_FENCE.findall(page.read_text(encoding="utf-8"))):
            found.append((f"{page.stem}-{number}", _EXPECT.sub("", text)))
    return found


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in page_examples()])
def test_fixes_of_the_pages_examples(text: str) -> None:
    check_all(text)


@pytest.mark.slow
@pytest.mark.shared("corpus")
def test_fixes_of_the_corpus() -> None:
    for path in sorted(CORPUS.rglob("*.mmd")):
        check_all(path.read_text(encoding="utf-8"))


BASE = """flowchart TD
    PROBLEM([Problem])
    ENTRY_POINT([entry_point])
    A["Custom<br/>(role: one)"]
    B["Custom<br/>(role: two)"]
    P["Programmer<br/>(analysis: 'step, by step')"]
    V["ScEnsemble<br/>"]
    GEN["CustomCodeGenerate<br/>(instruction: code)"]
    T["Test<br/>"]
    RETURN([Return])
    classDef Interface fill:#e2e2f2
    classDef CustomOp fill:#d0e1f9
    class PROBLEM,ENTRY_POINT,RETURN Interface
    class A,B CustomOp
    class P ProgramOp
    class V ScEnSembleOp
    class GEN CustomCodeGenerateOp
    class T TestOp
    PROBLEM -->|input| A & B
    PROBLEM -->|problem| P
    A --> V
    B --> V
    P --> V
    PROBLEM -->|problem| GEN
    ENTRY_POINT -->|entry_point| GEN & T
    GEN -->|solution| T
    PROBLEM -->|problem| T
    V -->|analysis| P2["Programmer"]:::ProgrammerOp
    PROBLEM -->|problem| P2
    P2 --> RETURN
    T --> CHECK{ok?}:::DecisionOp
    CHECK -- yes --> RETURN
"""


@st.composite
def damaged(draw: st.DrawFn) -> str:
    lines = BASE.splitlines(keepends=True)
    for _ in range(draw(st.integers(1, 4))):
        number = draw(st.integers(1, len(lines) - 1))
        line = lines[number]
        match draw(st.integers(0, 6)):
            case 0:
                lines[number] = ""
            case 1:
                lines[number] = re.sub(r"\|[^|]*\|", "", line)
            case 2:
                lines[number] = line + line
            case 3 if line.strip():
                at = draw(st.integers(0, len(line) - 1))
                lines[number] = line[:at] + line[at + 1 :] if line[at] != "\n" else line
            case 4:
                lines[number] = line.rstrip("\n") + draw(st.sampled_from([" %% note", ";", "  ", "]"])) + "\n"
            case 5:
                lines[number] = re.sub(
                    r"\b[A-Z]\w*Op\b", draw(st.sampled_from(["TestOp", "CustmOp", "ProgramOp"])), line
                )
            case _:
                other = draw(st.integers(1, len(lines) - 1))
                lines[number], lines[other] = lines[other], lines[number]
    return "".join(lines)


@settings(max_examples=38, deadline=None)
@given(damaged())
@pytest.mark.thinned(16, "fixes everywhere")
def test_fixes_of_damaged_workflows(text: str) -> None:
    check_all(text)


@pytest.mark.parametrize("line", ["A --> B & B & B", "A & A & A --> B"])
def test_findings_that_say_the_same_at_one_place_have_each_its_own_fixes(line: str) -> None:
    ends = 'PROBLEM([Start]):::Interface --> A@{ op: Custom, prompt: "Do it" }\n    B@{ op: Custom, prompt: "Do that" }'
    ends += "\n    B --> RETURN([End]):::Interface"
    found = analyse(f"flowchart TD\n    {ends}\n    {line}\n", as_workflow=True).diagnostics
    alike = Counter((one.code, one.range, one.message) for one in found if one.fixes)
    said, times = alike.most_common(1)[0]
    assert times > 1
    fixes = [tuple(one.fixes) for one in found if (one.code, one.range, one.message) == said]
    assert all(fixes)
    assert len(set(fixes)) == times
