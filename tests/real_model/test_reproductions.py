"""Two rows of each paper with a real model: each ends and is marked as a look, and what was paid is what the server counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.real_model.conftest import MODEL
from tests.real_model.tap import Tap
from tests.real_model.test_commands import ends
from tests.server.program import merrow
from tests.server.reproducing import tiny_data

ROLES = ("exec", "optimizer", "judge", "generator")
MODELS = ("--models", ",".join(f"{role}={MODEL}" for role in ROLES))
ROWS = {
    "mermaidflow": "round1-gsm8k,round1-math",
    "a2flow": "io-gsm8k,cot-gsm8k",
    "flow": "flow-gobang,masked-without-gobang",
}


@pytest.mark.parametrize("paper", ROWS)
def test_two_rows_of_a_paper_end(server: Tap, paper: str) -> None:
    """The model may be too weak to plan: then both rows of Flow fail, and say so."""
    server.longest = 60
    tiny_data(Path("data"))
    look = ("--data", "data", "--other-data", "--items", "1", "--rows", ROWS[paper], *MODELS)
    done = ends(merrow("reproduce", paper, *look, "--yes", "--format", "json"), 0, 1).json
    rows = {row["row"]: row for row in done["rows"]}
    assert rows.keys() == set(ROWS[paper].split(","))
    assert server.exchanges
    assert done["usage"]["calls"] == len(server.exchanges)
    for row in rows.values():
        assert row["status"] in ("ended", "failed") if paper == "flow" else row["status"] == "ended", row
        if row["status"] == "ended":
            assert (row["verdict"], row["model"], row["ours"]["items"]) == ("LOOK", MODEL, 1)
        else:
            assert "No plan could be used" in row["why"]
    before = len(server.exchanges)
    shown = ends(merrow("resume", f"repro/{paper}"), 0, 1)
    assert len(server.exchanges) == before
    assert "LOOK" in shown.out or "failed" in shown.out
