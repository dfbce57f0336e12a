"""`merrow check` and `merrow run` of workflows with tools: the user's settings count, and no run begins."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.program import in_process
from tests.tools.flows import flow
from tests.tools.pinned import PINS

from merrow_analysis.tools.pins import PINS_FILE

MAIL = flow(
    "mail.send",
    'ASK@{ op: Custom, role: ask, returns: "list[Text]" }',
    'subgraph EACH["Map (max: 7)"]',
    'SEND@{ op: Tool, tool: mail.send, with: "to: a@example.org" }',
    "end",
    "PROBLEM -->|input| ASK",
    "ASK -->|each:subject| SEND",
    "SEND --> RETURN",
)


@pytest.fixture(autouse=True)
def _workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    (tmp_path / "config").mkdir()
    Path("flow.mmd").write_text(MAIL)
    Path(PINS_FILE).write_text(PINS.text())


@pytest.mark.parametrize(
    ("settings", "codes"),
    [
        (None, {"MW507", "MW508"}),
        ('[servers.mail]\ncommand = ["mail"]\n', {"MW507", "MW508"}),
        ('[servers.mail]\ncommand = ["mail"]\nallow = ["send"]\n', {"MW508"}),
        ('[servers.mail]\ncommand = ["mail"]\nrepeatable = ["send"]\n', {"MW507"}),
        ('[servers.mail]\ncommand = ["mail"]\nrepeatable = true\nallow = true\n', set()),
        ('[servers.web]\ncommand = ["mail"]\nrepeatable = true\nallow = true\n', {"MW507", "MW508"}),
        ("[servers", {"MW507", "MW508"}),
    ],
)
def test_what_the_users_settings_let_tools_do_is_not_warned_of(
    capsys: pytest.CaptureFixture[str], settings: str | None, codes: set[str]
) -> None:
    if settings is not None:
        Path("config/config.toml").write_text(settings)
    for named in ((), ("--config", "named.toml")):
        Path("named.toml").write_text("")
        outcome = in_process(capsys, "check", "flow.mmd", "--format", "json", *named)
        found = {one["code"]: one["severity"] for one in outcome.json}
        assert found.keys() & {"MW507", "MW508"} == codes
        assert "error" not in found.values()
