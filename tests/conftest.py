"""Settings of all tests.

What runs is a function of the commit (``tests/sizes.py``). Property tests draw the same examples in every run and keep none: what
one once found is an example of its test. They have no deadline. Hypothesis would also draw constants out of the modules that are
loaded, which the tests before in the same process decide: it is given none.

Programs that tests start keep their bytecode in ``.cache/bytecode``, even where the environment forbids bytecode: without it,
each start of a server compiles tens of thousands of lines again. It lies apart so that packages and bundles hold no bytecode.
They also start with Ctrl-C at work: a shell's background job, and all it starts, would ignore it.

Python's collector would walk over all that thousands of tests loaded and collected, again and again: a fifth of the time of all
tests. What is there before the first test is left out, and new objects are looked at less often, as in the program's commands.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.internal.conjecture import providers
from tests import not_run
from tests.postgres import PostgresServer, shared_server
from tests.shared import require_shared, skip_without
from tests.sizes import left_out, runs_every_case

from merrow_analysis import faults

CACHE = Path(__file__).resolve().parents[1] / ".cache"
set_hypothesis_home_dir(CACHE / "hypothesis")  # Tables of Unicode.
if hasattr(providers, "_get_local_constants"):  # Since 6.131.
    providers._get_local_constants = providers.Constants
# Each value is given: where CI is set, Hypothesis has a profile of its own.
settings.register_profile(
    "merrow",
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=True,
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


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """The PostgreSQL server of the session."""
    folder = tmp_path_factory.getbasetemp()
    with shared_server(folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) as server:
        yield server


if os.environ.get("MERROW_TEST_POSTGRES"):

    @pytest.fixture(autouse=True)
    def _in_postgres(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
        """The journal of each test is a schema of its own."""
        monkeypatch.setenv("MERROW_JOURNAL", postgres.url())


sys.pycache_prefix = str(CACHE / "bytecode")
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
    "tests/server/workers/",
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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what `make test` does, and run the longest tests first: no worker is left with one of them at the end."""
    others = {} if runs_every_case(config) else left_out(items)
    config.stash[not_run.LEFT_OUT] = Counter(others.values())
    items[:] = [item for item in items if item not in others]
    config.stash[not_run.LEFT_OUT][not_run.SHARED] = skip_without(items)
    config.hook.pytest_deselected(items=list(others))
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


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Each worker collects; the process that started them says what was left out."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left out"] = dict(session.config.stash.get(not_run.LEFT_OUT, Counter()))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """All workers left out the same."""
    if told := getattr(node, "workeroutput", {}).get("left out"):
        node.config.stash[not_run.LEFT_OUT] = Counter(told)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    not_run.tell(terminalreporter, config, real_model=REAL_MODEL)
