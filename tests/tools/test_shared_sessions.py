"""A service whose runs share the sessions with servers of tools."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.program import merrow
from tests.server.test_up_command import up
from tests.tools.mails import ONE, Workspace


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    space = Workspace(tmp_path, tmp_path / "config")
    space.write(ONE)
    return space


def test_all_runs_of_a_service_use_one_session_which_ends_with_it(space: Workspace) -> None:
    with up("--base-url", "offline") as service:
        for to in ("ann", "bob"):
            response = service.post({"PROBLEM": to, "BODY": "hello"})
            assert response.json()["outputs"] == {"RETURN": f"sent to {to}"}
        waiting = service.post({"PROBLEM": "cid", "BODY": "die"})
        assert waiting.status_code == 202
        (ask,) = waiting.json()["asks"]
        # The session that died is followed by another one.
        assert service.post({"PROBLEM": "dan", "BODY": "hello"}).status_code == 200
        answered = service.client.post(
            f"/runs/{waiting.json()['run']}/answers", json={"node": ask["node"], "value": "done"}
        )
        assert answered.json()["status"] == "finished", answered.text
        service.end()
    assert [mail["to"] for mail in space.mails] == ["ann", "bob", "cid", "dan"]
    assert space.starts == 2


def test_a_service_does_not_begin_with_a_tool_that_was_not_agreed_to(space: Workspace) -> None:
    space.settings()
    outcome = merrow("up", "flow.mmd", "--port", "0", "--base-url", "offline")
    assert outcome.code == 2
    assert "mail.send" in outcome.err
    assert space.starts == 0
