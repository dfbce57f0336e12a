"""What a guest sends is measured before it is parsed, and a program that meets a limit is told which."""

from __future__ import annotations

import sys
import tracemalloc

import pytest
from tests.runtime.sandbox.conftest import run

from merrow_runtime.sandbox import Limits, Sandbox, SandboxResult, TestResult

LIMITS = Limits(wall_s=60)
#: 16 MiB of JSON that takes over 400 MiB once it is parsed.
SEND_LISTS = """
import os, struct
text = b'{"outcome": "ok", "names": {}, "error": "", "value": [' + b"[]," * (2**24 // 3 - 100) + b"[]]}"
def send(kind):
    left = memoryview(struct.pack(">cI", kind, len(text)) + text)
    while left:
        left = left[os.write(3, left):]
"""


def evaluate(means: str, source: str, limits: Limits = LIMITS) -> SandboxResult:
    return run(Sandbox(means, limits).evaluate(source))


def judge(solution: str, *tests: str) -> TestResult:
    return run(Sandbox(limits=LIMITS).test(solution, tests, "f"))


@pytest.mark.parametrize(
    ("solution", "test"),
    [
        (None, ""),
        (SEND_LISTS + "send(b'l')\ndef f(): pass", "assert f() == 1"),
        (SEND_LISTS + "send(b'f')\ndef f(): pass", "f()"),
        (SEND_LISTS + "def f(): send(b'r')", "f()"),
        (SEND_LISTS + "def f(): send(b'b')", "assert f() == 1"),
        ("def f(): pass", SEND_LISTS + "f()\nsend(b'v')"),
        ("import os\ndef f(): os._exit(0)", SEND_LISTS + "try: f()\nfinally: send(b'v')"),
    ],
)
@pytest.mark.thinned(24)
def test_what_a_guest_sends_costs_the_host_little_memory(default_means: str, solution: str | None, test: str) -> None:
    tracemalloc.start()
    try:
        if solution is None:
            assert evaluate(default_means, SEND_LISTS + "def solve(): send(b'v')").outcome == "output"
        else:
            assert not judge(solution, test).passed
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 150 * 2**20


@pytest.mark.slow
@pytest.mark.parametrize("size", [10**6, 3 * 10**6, 17 * 10**6, 40 * 10**6])
def test_a_value_beyond_the_limit_says_so(means: str, size: int) -> None:
    result = evaluate(means, f"def solve():\n    return 'x' * {size}")

    assert (result.outcome, result.error) == (
        ("ok", "") if size < 2**20 else ("output", "The limit on output was reached.")
    )


def test_text_counts_as_long_as_it_is_in_utf_8(default_means: str) -> None:
    result = evaluate(default_means, "def solve():\n    return 'ä' * 500_000 + '\\ud800'")

    assert (result.outcome, result.value) == ("ok", "ä" * 500_000 + "?")


@pytest.mark.parametrize("entry", ["evaluate", "test"])
def test_used_up_descriptors_are_reported_as_such(default_means: str, entry: str) -> None:
    code = "import os\nkept = []\ndef f():\n    while True:\n        kept.append(os.open('f', os.O_CREAT | os.O_RDWR))"
    if entry == "evaluate":
        error = run(Sandbox(default_means, LIMITS).evaluate(code, "f")).error
    else:
        error = judge(code, "assert f() == 1").failures[0].error

    assert "Too many open files" in error


@pytest.mark.slow
def test_a_large_table_does_not_fail_a_solution(default_means: str) -> None:
    solution = "table = list(range(3_000_000))\nlimit = 10\ndef f(x):\n    return table[x]"

    assert judge(solution, "assert f(5) == 5") == TestResult(True, (), "passed")


def test_a_result_beyond_the_limit_of_a_message_says_so(default_means: str) -> None:
    result = judge("def f():\n    return 'x' * 17_000_000", "assert f() == 1")

    assert "the data exceeds 16 MiB" in result.failures[0].error


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux's system calls")
def test_targets_of_links_and_limits_of_others_can_not_be_read(means: str) -> None:
    source = """
import os, resource
def solve():
    read = []
    for act in (lambda: os.readlink("/proc/self/exe"), lambda: os.readlink("/etc/mtab"), lambda: os.readlink("/bin"),
                lambda: resource.prlimit(os.getppid() or 1, resource.RLIMIT_NOFILE)):
        try: read.append(act())
        except OSError: pass
    return read, resource.prlimit(0, resource.RLIMIT_NOFILE), resource.prlimit(os.getpid(), resource.RLIMIT_CORE)
"""
    assert evaluate(means, source).value == "([], (64, 64), (0, 0))"
