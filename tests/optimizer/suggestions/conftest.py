"""Examples to suggest for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from merrow_optimizer.suggestions.ground import Ground
from merrow_runtime.options import RunOptions
from merrow_runtime.program.loading import load

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture
def examples() -> Callable[[str], Ground]:
    """The example of a name."""
    return lambda name: Ground(load(EXAMPLES / f"{name}.mmd"), RunOptions())
