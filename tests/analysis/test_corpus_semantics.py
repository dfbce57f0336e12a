"""The corpus: valid files have no error, each seeded defect is one finding at the named place. And more of the same
kinds.
"""

from __future__ import annotations

import json

import pytest
from tests.shared import SHARED

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Diagnostic, Severity

CORPUS = SHARED / "corpus"

CODES = {
    "missing_problem": "MW101",
    "missing_return": "MW101",
    "unreachable_node": "MW102",
    "dead_end": "MW102",
    "isolated_node": "MW102",
    "wrong_interface_class": "MW103",
    "wrong_operator_class": "MW107",
    "class_typo": "MW104",
    "undeclared_class": "MW114",
    "unknown_operator": "MW104",
    "ensemble_single_input": "MW105",
    "missing_port_label": "MW202",
    "unknown_port": "MW201",
    "missing_required_input": "MW204",
    "type_mismatch": "MW206",
    "duplicate_id": "MW109",
    "cycle": "MW110",
    "missing_prompt": "MW301",
    "unconnected_entry_point": "MW102",
    "custom_feeds_programmer_problem": "MW206",
}


class Prompts:
    """Hands out a ``prompt.py`` with the prompts of one file."""

    def __init__(self, prompts: dict[str, str]) -> None:
        self.text = "".join(f"{name} = {text!r}\n" for name, text in prompts.items())

    def read(self, path: str) -> str:
        assert path == "prompt.py"
        return self.text

    def exists(self, path: str) -> bool:
        return path == "prompt.py"


def manifest() -> list[dict[str, object]]:
    path = CORPUS / "mmd" / "manifest.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []


def said(text: str, prompts: dict[str, str] | None = None) -> list[Diagnostic]:
    found = analyse(text, provider=Prompts(prompts) if prompts is not None else None).diagnostics
    return [diagnostic for diagnostic in found if diagnostic.severity is not Severity.HINT]


@pytest.mark.shared("corpus")
@pytest.mark.parametrize("entry", manifest(), ids=lambda entry: str(entry["file"]))
def test_each_file_has_its_defect_and_no_other(entry: dict[str, object]) -> None:
    prompts = json.loads((CORPUS / "mmd" / "prompts.json").read_text("utf-8"))
    text = (CORPUS / "mmd" / str(entry["file"])).read_text("utf-8")
    found = said(text, prompts[entry["file"]])
    if entry["defect"] is None:
        assert found == []
        return
    assert [diagnostic.code for diagnostic in found] == [CODES[str(entry["defect"])]]
    line = text.splitlines()[found[0].range.start.line]
    nodes = entry["nodes"]
    assert isinstance(nodes, list)
    assert any(str(node) in line or str(node) in found[0].message for node in nodes)
    warning = entry["defect"] in ("missing_port_label", "undeclared_class")
    assert (found[0].severity is Severity.WARNING) == warning


GOOD = """flowchart LR
    PROBLEM([Problem]) --> |input|PLAN["Custom<br/>(role: plan)"]
    ENTRY_POINT([entry_point])
    G1["CustomCodeGenerate<br/>(instruction: one)"]:::CustomCodeGenerateOp
    G2@{ op: CustomCodeGenerate, role: two }
    VOTE["ScEnsemble<br/>"]
    T["Test<br/>"]:::TestOp
    CHECK{passed?}
    FIX["CustomCodeGenerate<br/>(instruction: fix)"]
    RETURN([Return])
    classDef Interface fill:#e2e2f2
    classDef CustomOp fill:#d0e1f9
    classDef CustomCodeGenerateOp fill:#f9c2c2
    classDef ScEnSembleOp fill:#f9e4b7
    classDef TestOp fill:#d8f0d8
    classDef DecisionOp fill:#ffffff
    class PROBLEM,ENTRY_POINT,RETURN Interface
    class PLAN CustomOp
    class FIX CustomCodeGenerateOp
    class VOTE ScEnSembleOp
    class CHECK DecisionOp
    PROBLEM & PLAN -->|problem| G1 & G2
    G1 & G2 --> VOTE -->|solution| T
    PROBLEM -->|problem| T & FIX
    ENTRY_POINT -->|entry_point| G1 & G2 & T & FIX
    T --> CHECK
    CHECK -- Passed --> RETURN
    CHECK -- Failed --> FIX --> RETURN
"""


def test_the_good_one_is_good() -> None:
    assert said(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "code", "names"),
    [
        ("PROBLEM", "START", "MW101", "PROBLEM"),
        ("VOTE -->|solution| T", "VOTE -->|solution| T\n    G2 --> SPARE[\"Custom\"]", "MW102", "SPARE"),
        ("G1 & G2 --> VOTE", "G2 -->|problem| FIX\n    G1 & G1 --> VOTE", "MW105", "G1"),
        ("ENTRY_POINT,RETURN Interface", "ENTRY_POINT Interface\n class RETURN TestOp", "MW103", "RETURN"),
        ("class VOTE ScEnSembleOp", "class VOTE ScEnsmbleOp", "MW104", "VOTE"),
        ("op: CustomCodeGenerate", "op: CustomCodeGen", "MW104", "G2"),
        ("class FIX CustomCodeGenerateOp", "class FIX TestOp", "MW107", "FIX"),
        ("T[\"Test<br/>\"]:::TestOp", "T[\"Test<br/>\"]:::CustomOp", "MW107", "T"),
        ("classDef DecisionOp fill:#ffffff\n", "", "MW114", "DecisionOp"),
        ("VOTE -->|solution| T", "VOTE --> T", "MW202", "T"),
        ("VOTE -->|solution| T", "VOTE -->|answer| T", "MW201", "answer"),
        ("VOTE -->|solution| T", "VOTE -->|anwser:solution| T", "MW207", "anwser"),
        ("PROBLEM -->|problem| T & FIX", "PROBLEM -->|problem| FIX", "MW204", "problem"),
        ("G1 & G2 --> VOTE", "G1 & G2 & PLAN --> VOTE", "MW206", "Code"),
        ("VOTE[\"ScEnsemble<br/>\"]", "VOTE[\"ScEnsemble<br/>\"]\n    G1[\"CustomCodeGenerate\"]", "MW109", "G1"),
        ("T --> CHECK", "T --> CHECK\n    T -->|problem| G1", "MW110", "G1"),
        ("& G2 & T & FIX", "& G2 & FIX", "MW204", "entry_point"),
        ("CHECK -- Failed -->", "CHECK -- maybe -->", "MW211", "maybe"),
        ("CHECK -- Failed -->", "CHECK -->", "MW210", "CHECK"),
        ("FIX --> RETURN", "FIX --> RETURN\n    FIX --> VOTE", "MW110", "FIX"),
        ("CHECK -- Passed --> RETURN", "CHECK -- Passed --> RETURN\n    G1 --> RETURN", "MW205", "G1"),
        ("T --> CHECK", "T -->|solution:when| CHECK\n    T -->|value| CHECK", "MW212", "else"),
    ],
)  # fmt: skip
def test_one_change_is_one_finding(old: str, new: str, code: str, names: str) -> None:
    assert old in GOOD
    found = said(GOOD.replace(old, new))
    wrong = [one for one in found if one.severity is Severity.ERROR] or found
    assert [one.code for one in wrong] == [code]
    assert names in wrong[0].message
