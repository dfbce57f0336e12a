"""Where the user's own settings are; looked up at each start, so little is imported for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import platformdirs

FILE_NAME = "config.toml"
FOLDER_VARIABLE = "MERROW_CONFIG_DIR"


def settings_path(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the file lies: ``config.toml`` in the user's configuration folder for Merrow, or in ``MERROW_CONFIG_DIR``."""
    folder = environment.get(FOLDER_VARIABLE, "").strip()
    return Path(folder) / FILE_NAME if folder else platformdirs.user_config_path("merrow") / FILE_NAME
