"""What fixes write, to the letter, where a repair of another shape would be as valid."""

from __future__ import annotations

import pytest

from merrow_analysis.check import analyse
from merrow_analysis.text import apply_edits

HEAD = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Answer]):::Interface
    classDef Interface fill:#eee
    classDef CustomOp fill:#eee
"""
LINE = '    A["Custom<br/>(role: a)"]:::CustomOp\n    PROBLEM -->|input| A --> RETURN\n'


def results(text: str, code: str) -> dict[str, str]:
    """What the fixes of all findings of a rule make of a text, by their titles."""
    return {
        fix.title: apply_edits(text, fix.edits)
        for one in analyse(text).diagnostics
        if one.code == code
        for fix in one.fixes
    }


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("role: a: b", 'role: "a: b"'),
        ("role: a: b, label: x", 'role: "a: b", label: x'),
        ("role: x: x", 'role: "x: x"'),
        ("role: 'a': b", "role: \"'a': b\""),
        ("role: ab]", 'role: "ab]"'),
    ],
)
def test_a_value_of_metadata_is_put_in_quotes_up_to_the_next_entry(said: str, written: str) -> None:
    text = f"{HEAD}    A@{{op: Custom, {said}}}\n    PROBLEM --> A --> RETURN\n"
    assert results(text, "MW007") == {"Put the value in quotes": text.replace(said, written)}


def test_three_ways_into_a_subgraph_are_offered() -> None:
    members = "".join(f'    {name}["Custom<br/>(role: a)"]:::CustomOp\n' for name in "ABCD")
    text = f'{HEAD}    subgraph G["Group"]\n{members}    end\n    PROBLEM -->|input| G\n    A & B & C & D --> RETURN\n'
    made = results(text, "MW104")
    assert list(made) == [f"Connect {name} inside G" for name in "ABC"]
    assert all(made[f"Connect {name} inside G"] == text.replace("| G", f"| {name}") for name in "ABC")


@pytest.mark.parametrize(
    ("text", "title", "written"),
    [
        ("---\ntitle: x\n{}", "Close the front matter with ---", "---\ntitle: x\n---\n{}"),
        ("%% c\n---\ntitle: x\n---\n{}", "Move the front matter to the top", "---\ntitle: x\n---\n%% c\n{}"),
        ("\n  ---\n  title: x\n  ---\n{}", "Move the front matter to the top", "---\ntitle: x\n---\n\n{}"),
    ],
)
def test_a_front_matter_is_closed_or_moved(text: str, title: str, written: str) -> None:
    assert results(text.format(HEAD + LINE), "MW010") == {title: written.format(HEAD + LINE)}


@pytest.mark.parametrize(
    ("box", "left"),
    [
        ("    subgraph L[{}]\n    end\n", ""),
        ("    subgraph L[{}]\n    end", ""),
        ("    subgraph L[{}]\n\n    end\n    %% tail\n", "    %% tail\n"),
        ("    subgraph L[{}]\n    %% note\n    end\n", None),
        ("    subgraph L[{}]\n    direction LR\n    end\n", None),
        ("    subgraph L[{}]\n    end; class A CustomOp\n", None),
        ("    class A CustomOp; subgraph L[{}]\n    end\n", None),
        ("    subgraph L[{}]\n    end\n    class L LoopOp\n", None),
        ("    subgraph L[{}]\n    end\n    L@{{until: A.response}}\n", None),
    ],
)
def test_a_box_without_nodes_is_removed_where_nothing_else_goes_with_it(box: str, left: str | None) -> None:
    text = HEAD + LINE + box.format('"Loop (max: 3)"')
    assert results(text, "MW126") == ({} if left is None else {"Remove L": HEAD + LINE + left})


def test_metadata_of_a_box_is_moved_below_its_end() -> None:
    inside = '    subgraph L["Loop (max: 3)"]\n        B["Custom<br/>(role: b)"]:::CustomOp\n'
    text = f"{HEAD}{LINE}{inside}        L@{{until: B.response}}\n    end\n    A --> B -->|again:input| B --> RETURN\n"
    moved = f"{HEAD}{LINE}{inside}    end\n    L@{{until: B.response}}\n    A --> B -->|again:input| B --> RETURN\n"
    assert results(text, "MW122") == {"Move it below the end of L": moved}
    shared = text.replace("    end\n", "    end; class A CustomOp\n")
    assert results(shared, "MW122") == {}
