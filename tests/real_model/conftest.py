"""A real model for tests of the protocol: llama.cpp's server with SmolLM2-135M, alone and behind LiteLLM's proxy.

`make real-model` installs both and sets ``MERROW_REAL_MODEL`` and ``MERROW_LITELLM``, the Pythons that they are installed for.
The model is too small to know anything: no test says what it answers. A test asks for what holds for every text.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from tests.patience import PATIENCE
from tests.real_model.tap import Tap, tapped

HERE = Path(__file__).parent
MODEL = "smollm2-135m"
SLOTS = 2
SHORT = 80
"""Tokens of an answer where a test says nothing: one that never ends by itself is cut there, within seconds."""
SERVERS = ["llama.cpp", "LiteLLM"] if os.environ.get("MERROW_LITELLM") else ["llama.cpp"]
"""`make real-model` says it where the proxy is missing, and fails unless told that it may be."""


@pytest.fixture(scope="session")
def llama() -> Iterator[str]:
    """The address of llama.cpp's server."""
    if "MERROW_REAL_MODEL" not in os.environ:
        pytest.fail("`make real-model` installs the model and runs these tests.")
    command = [os.environ["MERROW_REAL_MODEL"], str(HERE / "serve_llama.py"), "--alias", MODEL, "--slots", str(SLOTS)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield _address(process, r"listening at (http://\S+)")
        finally:
            process.kill()


@pytest.fixture(scope="session")
def litellm(llama: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of LiteLLM's proxy in front of it."""
    settings = tmp_path_factory.mktemp("litellm") / "litellm.yaml"
    model = f"{{model: openai/{MODEL}, api_base: '{llama}/v1', api_key: none}}"
    settings.write_text(f"model_list:\n  - model_name: {MODEL}\n    litellm_params: {model}\n")
    program = Path(os.environ["MERROW_LITELLM"]).with_name("litellm")
    # It fetches nothing, and asks for no key.
    env = {
        **os.environ,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
    }
    command = [program, "--config", settings, "--host", "127.0.0.1", "--port", "0"]
    with subprocess.Popen(
        command, cwd=settings.parent, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield _address(process, r"running on (http://\S+)")
        finally:
            process.kill()


def _address(process: subprocess.Popen[str], said: str) -> str:
    """The address that a server says once it listens; what it says later is read, and not kept."""
    output = process.stdout
    assert output is not None
    lines = []
    for line in output:
        lines.append(line)
        if found := re.search(said, line):
            threading.Thread(target=lambda: deque(output, maxlen=0), daemon=True).start()
            return found[1]
    raise AssertionError("".join(lines))


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    # The other tests say how many calls they make at once: here the server does.
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "MERROW_CONCURRENCY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server(llama: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tap]:
    """llama.cpp's server, tapped, and the endpoint of commands that name no other."""
    with tapped(llama, SHORT) as tap:
        monkeypatch.setenv("OPENAI_BASE_URL", tap.base_url)
        yield tap
        _idle(llama)


@pytest.fixture(params=SERVERS)
def any_server(request: pytest.FixtureRequest, llama: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tap]:
    """The same for each of the two servers."""
    target = llama if request.param == "llama.cpp" else request.getfixturevalue("litellm")
    with tapped(target, SHORT) as tap:
        monkeypatch.setenv("OPENAI_BASE_URL", tap.base_url)
        yield tap
        _idle(llama)


def _idle(llama: str) -> None:
    """Wait until llama.cpp makes no answer any more, which would slow down the next test."""
    for _ in range(int(PATIENCE / 0.1)):
        if re.search(r"^llamacpp:requests_processing 0$", httpx2.get(f"{llama}/metrics").text, re.MULTILINE):
            return
        time.sleep(0.1)
    pytest.fail("llama.cpp still makes an answer that nobody waits for.")
