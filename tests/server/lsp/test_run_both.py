"""`merrow.runBoth`: a workflow as it is and after a safe mutation on the same inputs, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.server.lsp.editor import MODERN, Editor, ServerError

FLOW = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    SOLVE["Custom<br/>(role: solver)"]
    PROBLEM -->|input| SOLVE --> RETURN
    classDef Interface fill:#e2e2f2
"""
