"""Fixes that once did harm: what a fix leaves can be read as well as before, and has fewer findings."""

from __future__ import annotations

from random import Random

import pytest
from tests.analysis.rule_page import read_page
from tests.breakage import broken

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Applicability
from merrow_analysis.rules.pages import page_codes, page_text
from merrow_analysis.text import apply_edits

HEAD = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Answer]):::Interface
    classDef Interface fill:#eee
"""


def results(text: str, code: str) -> dict[str, str]:
    """What the fixes of all findings of a rule make of a text, by their titles."""
    return {
        fix.title: apply_edits(text, fix.edits)
        for one in analyse(text).diagnostics
        if one.code == code
        for fix in one.fixes
    }


def codes(text: str) -> list[str]:
    return [one.code for one in analyse(text).diagnostics]


@pytest.mark.parametrize(
    ("arrow", "written"),
    [
        ("-->", "-- problem -->"),
        ("---->", "-- problem ---->"),
        ("---", "-- problem ---"),
        ("==>", "== problem ==>"),
        ("-.->", "-. problem .->"),
        ("-..->", "-. problem ..->"),
    ],
)
def test_before_a_comment_a_label_is_written_within_the_arrow(arrow: str, written: str) -> None:
    """Mermaid lets a comment follow an arrow, but not a label between bars."""
    text = HEAD + f"    PY[Programmer]\n    PROBLEM {arrow}\n    %% note\n    PY --> RETURN\n"
    made = results(text, "MW202")
    assert made == {"Write |problem|": text.replace(f"PROBLEM {arrow}", f"PROBLEM {written}")}
    after = analyse(made["Write |problem|"])
    assert not [one for one in after.diagnostics if one.code in ("MW001", "MW202")]
    assert after.is_valid == analyse(text).is_valid


def test_no_label_is_written_within_an_arrow_of_another_kind() -> None:
    text = HEAD + "    PY[Programmer]\n    PROBLEM --{head}\n{note}    PY --> RETURN\n"
    assert results(text.format(head="x", note="    %% note\n"), "MW202") == {}
    made = results(text.format(head="x", note=""), "MW202")
    assert "MW001" not in codes(made["Write |problem|"])


@pytest.mark.parametrize("front", ["title: [x", "title: x"])
def test_the_comment_above_front_matter_stays(front: str) -> None:
    text = f"%% merrow: ignore[MW302]\n\n---\n{front}\n---\n{HEAD}    PROBLEM --> A[Work] --> RETURN\n"
    made = results(text, "MW512")
    assert made == {"Empty the comment": text.replace("%% merrow: ignore[MW302]", "%%")}
    assert set(codes(made["Empty the comment"])) <= set(codes(text)) - {"MW512"}


@pytest.mark.parametrize(
    ("word", "code", "name"), [("ScEnsembel", "MW104", "ScEnsemble"), ("Program", "MW108", "Programmer")]
)
def test_an_operator_is_written_in_all_declarations(word: str, code: str, name: str) -> None:
    text = HEAD + f'    V["{word}<br/>"]\n    V["{word}<br/>"]\n    PROBLEM --> A[One] & B[Two] --> V --> RETURN\n'
    made = results(text, code)[f"Write {name}"]
    assert made == text.replace(word, name)
    assert "MW109" not in codes(made)


def test_a_box_that_is_broken_twice_is_not_repaired_by_half() -> None:
    text = (
        HEAD
        + """    subgraph REFINE["Loop (max: 3)"]
        WRITE["Custom<br/>(role: writer)"]
        REVIEW["Review<br/>"]
    end
    PROBLEM -->|input| WRITE
    PROBLEM -->|problem| REVIEW
    subgraph REFINE["Loop (max: 3)"]
    WRITE -->|solution| REVIEW
    end
    REVIEW -->|again:feedback:input| WRITE
    WRITE --> RETURN
"""
    )
    assert "MW126" in codes(text)
    for after in results(text, "MW126").values():
        assert codes(after).count("MW126") < codes(text).count("MW126")


def test_interface_is_not_written_at_a_step() -> None:
    text = HEAD.replace("PROBLEM(", "WORK(").replace(":::Interface", ":::Interfaceo", 1)
    text += '    WORK["Custom<br/>(role: work)"]\n    PROBLEM --> WORK --> RETURN\n'
    assert "Write Interface" not in results(text, "MW114")
    text = HEAD.replace(":::Interface", ":::Interfaceo", 1) + "    PROBLEM --> A[Work] --> RETURN\n"
    assert "Write Interface" in results(text, "MW114")


def test_a_safe_fix_never_brings_what_mermaid_refuses() -> None:
    random = Random(14)
    texts = [one.text for code in page_codes() for one in read_page(page_text(code) or "").examples]
    for _ in range(400):
        text = broken(random.choice(texts), random)
        before = analyse(text)
        refused = [one.code for one in before.refusals]
        for one in before.diagnostics:
            for fix in one.fixes:
                if fix.applicability is Applicability.SAFE:
                    after = [found.code for found in analyse(apply_edits(text, fix.edits)).refusals]
                    assert len(after) <= len(refused), f"{one.code} {fix.title}: {text}"


@pytest.mark.parametrize(
    ("line", "quoted", "safe"),
    [
        ("A[Write (it)] --> B[Check (it)]", 'A["Write (it)"] --> B["Check (it)"]', True),
        ("A[Write (it)] --> B[Check]", 'A["Write (it)"] --> B[Check]', True),
        ("A[x (y)]:::C --> B((a (b) c)) & C{d [e]}", 'A["x (y)"]:::C --> B(("a (b) c")) & C{"d [e]"}', True),
        ("A -->|x (y)| B[z (w)]", 'A -->|"x (y)"| B["z (w)"]', True),
        ("A[Do (x) --> y]", 'A["Do (x) --> y"]', False),
        ("A[use a[1] --> b]", 'A["use a[1] --> b"]', False),
    ],
)
def test_a_label_in_quotes_swallows_no_other_node(line: str, quoted: str, safe: bool) -> None:
    text = f"flowchart TD\n    {line}\n"
    [found] = analyse(text).diagnostics
    [fix] = found.fixes
    assert apply_edits(text, fix.edits) == f"flowchart TD\n    {quoted}\n"
    assert (fix.applicability is Applicability.SAFE) == safe


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_what_mermaid_refuses_has_its_fixes_among_the_errors(ending: str) -> None:
    text = HEAD.replace("\n", ending) + f"    PROBLEM --> A[Write (it)] --> RETURN{ending}    A -->"
    analysis = analyse(text)
    assert len(analysis.refusals) == 2
    for one in (analysis.refusals, analysis.errors):
        assert [list(found.fixes) for found in one] == [list(found.fixes) for found in analysis.diagnostics[:2]]
        assert all(found.fixes for found in one)
