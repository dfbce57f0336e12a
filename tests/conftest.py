"""Settings of all tests.

Property tests have no deadline. On a developer's machine and every night they draw new examples in every run; what failed is
kept in ``.hypothesis`` and tried first the next time. In CI (``CI`` is set) a test draws the same examples each time, so that a
change is judged by what it changes and not by luck. A failure is printed with what reproduces it. ``MERROW_TIMES=20`` draws
twenty times as many examples, always new ones; with less than 1, a failure is reported as it was found, without a search
for a smaller one.

Programs that tests start keep their bytecode in ``.cache/bytecode``, even where the environment forbids bytecode: without it,
each start of a server compiles tens of thousands of lines again. It lies apart so that packages and bundles hold no bytecode.
They also start with Ctrl-C at work: a shell's background job, and all it starts, would ignore it.

Python's collector would walk over all that thousands of tests loaded and collected, again and again: a fifth of the time of all
tests. What is there before the first test is left out, and new objects are looked at less often, as in the program's commands.

A test with ``@pytest.mark.thinned(n)`` has many cases that are alike, each of them dear. A run of whole files takes one in ``n``;
``MERROW_SEED``, by default the number of the day, says which, so that ``n`` days try all; `make test` runs one in
``8n``, so that ``thinned(1)`` is for those that only a run of all tests can't afford: ``thinned(1, "slow")`` is on each test that
takes more than a second or so. ``MERROW_ALL_CASES=1``, or
naming the test with ``::``, runs every case. The cases of all tests with ``@pytest.mark.thinned(n, "what they are about")`` are
as those of one test: they are dear and alike, too, as where many commands are killed anywhere.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from tests.examples import DAYS, SAME, SEED, TIMES, examples
from tests.shared import require_shared

from merrow_analysis import faults

# Each value is given: where CI is set, Hypothesis has a profile of its own.
settings.register_profile(
    "merrow",
    max_examples=examples(100),
    deadline=None,
    derandomize=SAME,
    database=None
    if SAME
    else DirectoryBasedExampleDatabase(Path(__file__).resolve().parents[1] / ".hypothesis" / "examples"),
    print_blob=True,
    phases=[phase for phase in Phase if TIMES >= 1 or phase not in (Phase.shrink, Phase.explain)],
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("merrow")

REAL_MODEL = bool(os.environ.get("MERROW_REAL_MODEL"))
collect_ignore = [] if REAL_MODEL else ["real_model"]


def pytest_sessionstart(session: pytest.Session) -> None:
    require_shared()


@pytest.fixture(scope="session", autouse=True)
def faults_are_raised() -> Iterator[None]:
    """A fault of Merrow fails its test; users are told of it as a finding."""
    with faults.raising():
        yield


sys.pycache_prefix = str(Path(__file__).resolve().parents[1] / ".cache" / "bytecode")
sys.dont_write_bytecode = False
os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # As under nohup.

if "MERROW_STATE_DIR" not in os.environ:
    # What tests pay to servers of their own is not the developer's: neither journal nor costs are written to.
    _STATE = tempfile.TemporaryDirectory(prefix="merrow-tests-", ignore_cleanup_errors=True)
    os.environ["MERROW_STATE_DIR"] = _STATE.name

os.environ["MERROW_DISCOVERY_PORTS"] = ""  # Model servers of the developer's are not met.
os.environ["MERROW_CONCURRENCY"] = "64"  # The servers of tests have as many places as any; a test of few says so.

SELDOM = (20_000, 10, 10)
"""When the collector looks: garbage of a few hundred megabytes may gather."""
# Before the tests are collected, which makes half a million objects that stay.
gc.set_threshold(*SELDOM)

LONGEST = (
    "tests/runtime/sandbox/test_as_user.py",
    "tests/server/test_extract_hardship.py",
    "tests/server/test_search_proposals.py",
    "tests/analysis/test_edge_edits.py",
    "tests/boxes/test_typing.py",
    "tests/optimizer/search/test_carried_out.py",
    "tests/runtime/test_third_party_server.py",
    "tests/server/lsp/test_run_",
    "tests/server/lsp/test_robustness.py",
    "tests/analysis/test_survival.py",
    "tests/analysis/test_analyser.py",
    "tests/analysis/test_differential.py",
    "tests/e2e/",
    "tests/extension/test_bundle.py",
    "tests/optimizer/test_crossover.py",
    "tests/server/test_run_command.py",
)
"""Where the longest tests are, longest first: beginnings of paths from the root of the repository."""


ALL_CASES = bool(os.environ.get("MERROW_ALL_CASES"))


def _left_out(items: list[pytest.Item]) -> list[pytest.Item]:
    """The cases of thinned tests whose turn is another day; at least one case of each test, or of each subject, stays."""
    tests: defaultdict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        # Of a test's own mark and its file's the nearer one counts: both together would leave some cases without a day.
        if marker := item.get_closest_marker("thinned"):
            one_in, *subject = marker.args
            tests[subject[0] if subject else item.nodeid.partition("[")[0], one_in].append(item)
    return [
        case
        for (_, one_in), cases in tests.items()
        for number, case in enumerate(cases)
        if (number + SEED) % min(one_in * DAYS, len(cases))
    ]


def _all_cases(config: pytest.Config) -> bool:
    return ALL_CASES or any("::" in argument for argument in config.args)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Thin what is marked so, and run the longest tests first: no worker is left with one of them when the others are done."""
    if not _all_cases(config):
        left_out = _left_out(items)
        others = set(left_out)
        items[:] = [item for item in items if item not in others]
        config.hook.pytest_deselected(items=left_out)
    items.sort(
        key=lambda item: next((n for n, start in enumerate(LONGEST) if item.nodeid.startswith(start)), len(LONGEST))
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave what is there now out of all collections to come."""
    gc.freeze()


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Commands that a test runs in this process say when the collector looks, too: for as long as a command runs."""
    gc.set_threshold(*SELDOM)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not _all_cases(config):
        terminalreporter.write_line(
            f"MERROW_SEED={SEED} chose the cases of thinned tests; MERROW_ALL_CASES=1 runs all."
        )
    if not REAL_MODEL:
        terminalreporter.write_line("The tests with a real model did not run; `make real-model` runs them.")
