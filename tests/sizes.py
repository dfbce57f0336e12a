"""The two sizes of a test run: that of `make test`, which plain pytest and CI have, too, and that of `make test-all`.

What runs is a function of the commit: neither the date nor chance chooses. ``MERROW_TEST_ALL=1`` is the larger size:

- ``@pytest.mark.slow`` runs only there;
- of the cases of a test with ``@pytest.mark.thinned(n)``, which are alike and dear, `make test` runs each ``n``-th, the first
  included. Those of all tests with ``@pytest.mark.thinned(n, "what they are about")`` are as those of one test;
- `sized` is how often something is tried.

A test that is named with ``::`` runs with every case. Property tests draw as many examples in both sizes, and the same.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict

import pytest

ALL = os.environ.get("MERROW_TEST_ALL", "0") not in ("", "0")
"""Whether this is `make test-all`."""
MARKS = ("slow", "thinned")


def sized(test: int, test_all: int) -> int:
    """How often something is tried: in `make test` and in `make test-all`."""
    return test_all if ALL else test


def runs_every_case(config: pytest.Config) -> bool:
    return ALL or any("::" in argument for argument in config.args)


def left_out(items: list[pytest.Item]) -> dict[pytest.Item, str]:
    """What `make test` does not run, each with its mark. One case of each thinned test, or of each subject, stays."""
    found: dict[pytest.Item, str] = {}
    alike: defaultdict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        # Of a test's own mark and its file's the nearer one counts.
        mark = next((mark for mark in item.iter_markers() if mark.name in MARKS), None)
        if mark is None:
            continue
        if mark.name == "slow":
            found[item] = "slow"
            continue
        one_in, *subject = mark.args
        alike[subject[0] if subject else item.nodeid.partition("[")[0], one_in].append(item)
    for (_, one_in), cases in alike.items():
        each = min(one_in, len(cases))
        found |= {case: "thinned" for number, case in enumerate(cases) if number % each}
    return found


def in_words(count: Counter[str]) -> str:
    """What was left out, by its mark; empty where nothing was."""
    kinds = {"slow": "slow tests", "thinned": "cases that are like others"}
    parts = [f"{count[mark]:,} {kinds[mark]}" for mark in MARKS if count[mark]]
    return f"{' and '.join(parts)} (`make test-all`)" if parts else ""
