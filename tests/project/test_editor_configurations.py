"""Configurations for editors that are not tried here are at least well formed, and those shown in the documentation."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EDITORS = ROOT / "editors"


def test_helix_has_the_configuration_that_is_shown() -> None:
    shown = re.search(r"```toml languages\.toml\n(.*?)```", (ROOT / "docs/editors.md").read_text("utf-8"), re.DOTALL)
    assert shown is not None
    written = tomllib.loads((EDITORS / "helix/languages.toml").read_text("utf-8"))
    assert tomllib.loads(shown[1]) == written
    assert written["language-server"]["merrow"] == {"command": "merrow", "args": ["serve"]}


def test_zed_starts_the_server_for_the_languages_that_it_names() -> None:
    extension = tomllib.loads((EDITORS / "zed/extension.toml").read_text("utf-8"))
    language = tomllib.loads((EDITORS / "zed/languages/mermaid/config.toml").read_text("utf-8"))
    assert language["name"] in extension["language_servers"]["merrow"]["languages"]
    cargo = tomllib.loads((EDITORS / "zed/Cargo.toml").read_text("utf-8"))
    assert (EDITORS / "zed" / cargo["lib"]["path"]).is_file()
    assert cargo["package"]["version"] == extension["version"]
