"""The cases of the shipped examples pass from their recordings, which are what their written answers give."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from scripts.make_case_recordings import EXAMPLES, record, recordings
from tests.server.program import merrow

ROOT = EXAMPLES.parent


def test_the_cases_pass_without_a_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    done = merrow("test", "examples", "--format", "json", env={"MERROW_STATE_DIR": str(tmp_path)})
    assert done.code == 0, done
    assert done.json["counts"] == {"passed": len(done.json["results"])}
    assert {one["source"] for one in done.json["results"]} == {"recording"}
    assert {Path(one["file"]).name.partition(".")[0] for one in done.json["results"]} == set(recordings())


@pytest.mark.slow
@pytest.mark.parametrize("name", recordings())
async def test_recordings_are_made_of_the_written_answers(name: str, tmp_path: Path) -> None:
    assert await record(name, tmp_path) == (EXAMPLES / f"{name}.replay.jsonl").read_text("utf-8")


def test_a_changed_prompt_makes_the_case_stale(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for path in EXAMPLES.glob("math.*"):
        shutil.copy(path, tmp_path)
    (tmp_path / "inputs").mkdir()
    shutil.copy(EXAMPLES / "inputs" / "competition.txt", tmp_path / "inputs")
    flow = tmp_path / "math.mmd"
    flow.write_text(flow.read_text("utf-8").replace("Calculate nothing yet.", "Calculate at once."), "utf-8")
    monkeypatch.chdir(tmp_path)
    done = merrow("test", env={"MERROW_STATE_DIR": str(tmp_path / ".state")})
    assert done.code == 1
    assert "stale    math.cases.yaml::square-divisors" in done.out
    assert "at node PLAN" in done.out
