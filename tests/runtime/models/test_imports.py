"""What a language server imports before anything runs must not bring the heavy client along."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE

import merrow_runtime.models

HEAVY = ("openai", "httpx2", "aiohttp")
MODULES = sorted(
    f"merrow_runtime.models.{path.stem}"
    for path in Path(merrow_runtime.models.__file__).parent.glob("*.py")
    if path.stem != "__init__"
)


def loaded_after(code: str) -> set[str]:
    program = f"import sys\n{code}\nprint([name for name in {HEAVY!r} if name in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    return set(eval(result.stdout))  # noqa: S307 (our own output)


def test_no_module_imports_the_client() -> None:
    assert len(MODULES) > 10
    assert loaded_after("\n".join(f"import {name}" for name in MODULES)) == set()


def test_choosing_and_making_an_endpoint_does_not_import_it_either() -> None:
    code = (
        "from merrow_runtime.models.selection import *\nfrom merrow_runtime.models.user_settings import UserSettings\n"
        "choose_endpoint(ModelOptions(), {'OPENAI_API_KEY': 'sk-0123456789'}, UserSettings())"
    )
    assert loaded_after(code) == set()
