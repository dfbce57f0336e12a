"""The example of an extraction, as its page walks through it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.server.program import merrow

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "extraction"


@pytest.mark.slow
def test_the_walk_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for name, folder in (("MERROW_STATE_DIR", "state"), ("MERROW_CONFIG_DIR", "config")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    done = merrow("extract", "math_validate.jsonl", "--replay", "operators.replay.jsonl")
    assert done.code == 0, done.err
    page = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    shown = page.partition("--replay operators.replay.jsonl\n")[2].partition("```")[0]
    assert done.out.startswith(shown)
    report = json.loads(Path("operators.report.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in report["operators"]] == ["Finalize", "PlanMethod", "Analyze"]
    assert report["leaks_refused"] == 1
    assert merrow("check", "cases", "start", "--format", "json").json == []
    ran = merrow("run", "cases/case_05.mmd", "--input", "PROBLEM=In how many ways can NOON be arranged?")
    assert ran.code == 0, ran.err
    assert ran.out.strip()
    library = "---\nworkflow: {libraries: [./operators.yaml]}\n---\n"
    flow = 'flowchart TD\nPROBLEM([P]):::Interface\nA["Analyze<br/>"]\nRETURN([R]):::Interface\n'
    Path("own.mmd").write_text(f"{library}{flow}PROBLEM -->|problem| A --> RETURN\nclassDef Interface fill:#eee\n")
    assert merrow("check", "own.mmd", "--format", "json").json == []
    said = merrow("run", "own.mmd", "--input", "PROBLEM=x", "--replay", "operators.replay.jsonl")
    assert said.code == 2
    assert "is the recording of an extraction" in said.err
