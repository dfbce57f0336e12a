"""``merrow datasets``: what is known of published sets, and which of them are in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.program import in_process, write
from tests.shared import SHARED

from merrow_optimizer.evaluation.data import read_items
from merrow_optimizer.evaluation.data.catalogue import known_sets
from merrow_optimizer.evaluation.data.names import shipped_names

Capture = pytest.CaptureFixture[str]


def test_every_set_has_its_form_source_licence_and_hash(capsys: Capture) -> None:
    found = {one["name"]: one for one in in_process(capsys, "datasets", "--format", "json").json}
    assert set(shipped_names()) <= found.keys()
    assert (found["gsm8k_test"]["form"], found["gsm8k_test"]["metric"]) == ("gsm8k", "gsm8k")
    assert (found["math_validate"]["part"], found["math_test"]["part"]) == ("validate", "test")
    for one in found.values():
        assert one["licence"]
        assert one["source"]
        assert one["shipped"] == (one["get"] is None)
        assert one["beside"] is None or one["beside"] in found
        assert (one["sha256"] is None) == (one["remark"] is not None), one
    text = in_process(capsys, "datasets").out
    assert all(name in text for name in found)
    assert "git clone" in text


def test_a_file_counts_by_its_hash(capsys: Capture, tmp_path: Path) -> None:
    write(str(tmp_path / "gsm8k_test.jsonl"), '{"question": "1 + 1?", "answer": "2"}\n')
    found = in_process(capsys, "datasets", "--data", str(tmp_path), "--format", "json").json
    states = {one["name"]: one["state"] for one in found}
    assert states["gsm8k_test"] == "other"
    assert states["gsm8k_validate"] == "missing"
    assert states["arithmetic"] == "ok"
    assert "another file" in in_process(capsys, "datasets", "--data", str(tmp_path)).out


@pytest.mark.shared("datasets/gsm8k_test.jsonl")
def test_the_published_files_are_as_the_list_says() -> None:
    folder = SHARED / "datasets"
    for one in known_sets().values():
        if one.get and one.sha256 is not None:
            assert one.state(folder) == "ok", one.name
            if one.form != "visible tests":
                assert len(read_items(one.place(folder)).items) == one.records
