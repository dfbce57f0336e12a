"""The analysis brings in nothing of the network, the protocol, the terminal or a model."""

from __future__ import annotations

import subprocess
import sys

FORBIDDEN = [
    "socket",
    "ssl",
    "http",
    "asyncio",
    "httpx",
    "aiohttp",
    "openai",
    "pygls",
    "lsprotocol",
    "click",
    "rich",
    "subprocess",
]
PROGRAM = """
import pkgutil, sys
import merrow_analysis
for module in pkgutil.walk_packages(merrow_analysis.__path__, "merrow_analysis."):
    __import__(module.name)
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_importing_all_of_the_analysis_loads_none_of_them() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "merrow_analysis" in loaded
    assert not set(FORBIDDEN) & set(loaded)
