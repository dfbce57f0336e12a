"""Solutions and tests as the published data sets have them, and what may travel between a solution and its tests."""

from __future__ import annotations

import asyncio
import json
from textwrap import dedent
from typing import Any

import pytest
from tests.runtime.sandbox.conftest import run
from tests.shared import SHARED

from merrow_runtime.sandbox import Limits, Sandbox, TestResult

DATASETS = SHARED / "datasets"
#: Each of so many problems of both data sets is judged; all are in `test_published_sets`.
EVERY = 14
#: Its published solution uses a name that it does not define.
FAULTY = {"mbpp/630"}


def problems() -> list[tuple[str, str, tuple[str, ...], str]]:
    found: list[tuple[str, str, tuple[str, ...], str]] = []
    for part in ("test", "validate"):
        for record in _records(f"humaneval_{part}.jsonl"):
            test = f"{record['test']}\ncheck(candidate)"
            found.append(
                (record["task_id"], record["prompt"] + record["canonical_solution"], (test,), record["entry_point"])
            )
        for record in _records(f"mbpp_{part}.jsonl"):
            tests = tuple("\n".join([*record["test_imports"], test]) for test in record["test_list"])
            found.append((f"mbpp/{record['task_id']}", record["code"], tests, record["entry_point"]))
    return found


def _records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATASETS / name).read_text(encoding="utf-8").splitlines()]


def judge(solution: str, *tests: str, entry: str = "f", limits: Limits | None = None) -> TestResult:
    return run(Sandbox(limits=limits).test(dedent(solution), [dedent(test) for test in tests], entry))


@pytest.mark.slow
@pytest.mark.shared("datasets")
def test_published_solutions_pass_their_published_tests(default_means: str) -> None:
    chosen = [problem for problem in problems()[::EVERY] if problem[0] not in FAULTY]

    async def all_of_them() -> list[TestResult]:
        sandbox = Sandbox(default_means)
        return await asyncio.gather(*(sandbox.test(code, tests, entry) for _, code, tests, entry in chosen))

    failed = {
        name: result.failures
        for (name, *_), result in zip(chosen, run(all_of_them()), strict=True)
        if not result.passed
    }
    assert not failed
    assert len(chosen) >= 40


VALUES = (
    *("None", "True", "0", "-1", "2**53", "-2**200", "0.1", "-0.0", "float('inf')", "1+2j", "...", "int"),
    *("'text ä \\ud800'", "b'\\x00\\xff'", "bytearray(b'x')", "[]", "[1, [2, (3,)]]", "(1, 'a')", "[True, 1, 1.0]"),
    *("{1, 2}", "frozenset({1})", "set([frozenset([(1, 2)])])", "{'a': {1: [None]}, (1, 2): 3}", "range(1, 10, 3)"),
    *("Decimal('1.10')", "Fraction(-1, 3)", "date(2024, 1, 2)", "time(1, 2)", "timedelta(days=-1, microseconds=5)"),
    "datetime(2024, 1, 2, 3, 4, 5, tzinfo=timezone.utc)",
)


def test_plain_data_travels_unchanged_both_ways(means: str) -> None:
    imports = "from datetime import *\nfrom decimal import Decimal\nfrom fractions import Fraction\n"
    same = "assert back == value and type(back) is type(value) and repr(back) == repr(value)"
    tests = [f"{imports}value = {value}\nback = f(value)\n{same}" for value in VALUES]

    result = run(Sandbox(means).test("def f(x):\n    return x", tests, "f"))

    assert result == TestResult(True, (), "passed")


PASSING: dict[str, tuple[str, tuple[str, ...]]] = {
    "helpers of the solution": (
        """
        def encode(s):
            return s[::-1]
        def f(s):
            return s[::-1]
        """,
        (
            "assert f(encode('abc')) == 'abc'",
            """
            from random import randint
            assert all(f(encode(str(i))) == str(i) for i in range(50))
            """,
        ),
    ),
    "constants of the solution": (
        """
        LIMIT = 10
        def f(x):
            return min(x, LIMIT)
        """,
        ("assert f(99) == LIMIT",),
    ),
    "modules that the solution imports": (
        """
        import math
        import sys
        from collections import Counter
        def f(x):
            return Counter(x)
        """,
        ("assert f('aab') == Counter('aab') and math.isclose(1.0, 1.0) and sys.maxsize",),
    ),
    "functions as arguments": (
        """
        def f(function, items):
            return [function(item) for item in items]
        """,
        (
            "assert f(lambda x: x + 1, [1, 2]) == [2, 3]",
            "assert f(len, ['a', 'bb']) == [1, 2]",
            "assert f(str, [1]) == ['1']",
        ),
    ),
    "functions that call each other to and fro": (
        """
        def f(function, n):
            return n if n == 0 else function(n - 1) + 1
        """,
        (
            """
            def back(n):
                return f(back, n)
            assert f(back, 10) == 10
            """,
        ),
    ),
    "functions as results": (
        """
        def f(n):
            return lambda x: x * n
        """,
        (
            "assert f(3)(4) == 12",
            "assert callable(f(3))",
        ),
    ),
    "generators": (
        """
        def f(n):
            i = 0
            while n is None or i < n:
                yield i
                i += 1
        """,
        (
            "assert list(f(3)) == [0, 1, 2]",
            """
            g = f(None)
            assert [next(g) for _ in range(5)] == [0, 1, 2, 3, 4]
            """,
            "assert sum(f(5000)) == 12497500",
        ),
    ),
    "a generator that fails late": (
        """
        def f():
            yield 1
            yield 2
            raise ValueError('late')
        """,
        (
            """
            g = f()
            assert next(g) == 1
            assert next(g) == 2
            try:
                next(g)
            except ValueError as e:
                assert str(e) == 'late'
            else:
                assert False
            """,
        ),
    ),
    "iterators as arguments": (
        """
        def f(items):
            return list(items)
        """,
        (
            "assert f(iter([1, 2])) == [1, 2]",
            "assert f(x for x in 'ab') == ['a', 'b']",
        ),
    ),
    "classes": (
        """
        class f:
            def __init__(self): self.items = []
            def push(self, x): self.items.append(x); return self
            def pop(self): return self.items.pop()
            def __len__(self): return len(self.items)
            def __getitem__(self, i): return self.items[i]
            def __iter__(self): return iter(self.items)
            def __repr__(self): return 'a stack'
        """,
        (
            """
            s = f()
            s.push(1).push(2)
            assert len(s) == 2 and s[0] == 1 and list(s) == [1, 2] and s.items == [1, 2]
            assert s.pop() == 2
            """,
            """
            s = f()
            assert not s
            assert isinstance(s, f) and not isinstance(3, f)
            assert str(s) == repr(s) == 'a stack'
            """,
            """
            s = f()
            s.items = [5]
            assert s.pop() == 5 and s == s and s != f()
            """,
        ),
    ),
    "dataclasses compared by their data": (
        """
        from dataclasses import dataclass
        @dataclass
        class P:
            x: int
            y: int
        def f(p):
            return P(p.x + 1, p.y)
        """,
        (
            "assert f(P(1, 2)) == P(2, 2)",
            "assert f(P(1, 2)) != P(1, 2)",
            "assert f(P(1, 2)).x == 2",
        ),
    ),
    "named tuples and enumerations as plain values": (
        """
        from collections import namedtuple, OrderedDict, defaultdict
        from enum import IntEnum
        P = namedtuple('P', 'x y')
        class C(IntEnum):
            A = 1
        def f(k):
            return [P(1, 2), C.A, OrderedDict(a=1), defaultdict(int, a=1)][k]
        """,
        (
            "assert f(0) == (1, 2)",
            "assert f(1) == 1",
            "assert f(2) == {'a': 1}",
            "assert f(3) == {'a': 1}",
        ),
    ),
    "exceptions": (
        """
        class TooBig(ValueError):
            pass
        def f(x):
            if x > 9:
                raise TooBig('too big', x)
            return {}[x]
        """,
        (
            """
            try:
                f(10)
            except TooBig as e:
                assert e.args == ('too big', 10) and isinstance(e, ValueError)
            else:
                assert False
            """,
            """
            try:
                f(1)
            except KeyError as e:
                assert e.args == (1,)
            else:
                assert False
            """,
        ),
    ),
    "arguments changed in place": (
        """
        def f(items, table):
            items.sort()
            table['n'] = len(items)
        """,
        (
            """
            items = [3, 1, 2]
            table = {}
            assert f(items, table) is None
            assert items == [1, 2, 3] and table == {'n': 3}
            """,
        ),
    ),
    "keyword and default arguments": (
        """
        def f(a, *rest, b=2, **more):
            return a, rest, b, more
        """,
        ("assert f(1, 5, b=3, c=4) == (1, (5,), 3, {'c': 4})",),
    ),
    "state between calls": (
        """
        seen = []
        def f(x):
            seen.append(x)
            return len(seen)
        """,
        (
            "assert f(1) == 1 and f(1) == 2",
            "assert f(1) == 3",
        ),
    ),
    "printing": (
        """
        def f(x):
            print('x' * 1000)
            return x
        """,
        (
            """
            print('hello')
            assert f(1) == 1
            """,
        ),
    ),
}


@pytest.mark.parametrize("name", PASSING)
def test_what_published_tests_do_works_between_the_processes(default_means: str, name: str) -> None:
    solution, tests = PASSING[name]

    assert judge(solution, *tests) == TestResult(True, (), "passed")


def test_a_failure_says_what_was_called_and_what_came_back(default_means: str) -> None:
    result = judge(
        "def f(x):\n    return x + 1",
        "assert f(1) == 2",
        "assert f(1) == 3",
        "assert candidate(2) == 2, 'two stays two'",
    )

    assert (result.passed, result.outcome) == (False, "failed")
    assert [(failure.test, failure.error) for failure in result.failures] == [
        ("assert f(1) == 3", "AssertionError: f(1) returned 2"),
        ("assert candidate(2) == 2, 'two stays two'", "AssertionError: two stays two (f(2) returned 3)"),
    ]
    assert 'File "test_2.py", line 1' in result.failures[0].traceback


def test_an_error_in_the_solution_is_shown_with_both_places(default_means: str) -> None:
    failure = judge("def f(x):\n    return 1 / x", "assert f(0) == 0").failures[0]

    assert failure.error == "ZeroDivisionError: division by zero"
    assert 'File "solution.py", line 2, in f' in failure.traceback
    assert 'File "test_1.py", line 1' in failure.traceback
    assert "merrow" not in failure.traceback


def test_where_the_solution_dies_the_line_of_the_test_is_shown(default_means: str) -> None:
    result = judge("import os\ndef f(x):\n    os._exit(3)", "y = 1\nassert f(y) == 1")

    assert result.failures[0].error.startswith("the solution: ")
    assert 'File "test_1.py", line 2' in result.failures[0].traceback


def test_a_failure_says_nothing_of_the_test_before(default_means: str) -> None:
    raising = "try:\n    f(0)\nexcept ZeroDivisionError:\n    pass"
    result = judge(
        "def f(x):\n    return 1 / x", "assert f(1) == 1", raising, "assert False, 'made no call'", "assert 1 > 2"
    )

    assert [failure.error for failure in result.failures] == ["AssertionError: made no call", "AssertionError"]
    for number, failure in enumerate(result.failures, 3):
        assert f'File "test_{number}.py", line 1' in failure.traceback
        assert "solution.py" not in failure.traceback


def test_a_solution_that_can_not_be_loaded_is_one_failure(default_means: str) -> None:
    result = judge("import math\nx = 1 / 0\ndef f(x):\n    return x", "assert f(1)", "assert f(2)")

    assert (result.outcome, [failure.test for failure in result.failures]) == ("error", [""])
    assert result.failures[0].error == "ZeroDivisionError: division by zero"


def test_one_death_does_not_fail_the_tests_around_it(default_means: str) -> None:
    solution = "import os\ndef f(x):\n    if x == 2:\n        os._exit(1)\n    return x"

    result = judge(solution, "assert f(1) == 1", "assert f(2) == 2", "assert f(3) == 3")

    assert (result.outcome, [failure.test for failure in result.failures]) == ("crashed", ["assert f(2) == 2"])


@pytest.mark.slow
def test_the_time_limit_names_the_one_who_used_it_up(default_means: str) -> None:
    for seconds in (2, 60):  # A machine too busy to come to the call that never ends is given longer.
        limits = Limits(wall_s=seconds, cpu_s=600)
        slow = judge(
            "def f(x):\n    while x: pass\n    return x",
            "assert f(0) == 0",
            "assert f(1)",
            "assert f(0) == 0",
            limits=limits,
        )
        test = judge("def f(x):\n    return x", "f(1)\nwhile True: pass", limits=limits)
        said = [(failure.test, failure.error) for failure in (*slow.failures, *test.failures[:1])]
        if said == (
            wanted := [
                ("assert f(1)", f"the solution did not end within {seconds} s"),
                ("assert f(0) == 0", "not run: the time limit was reached before"),
                ("f(1)\nwhile True: pass", f"the test did not end within {seconds} s"),
            ]
        ):
            break

    assert said == wanted
    assert slow.outcome == "timeout"


def test_memory_and_output_limits_hold_for_solutions(default_means: str) -> None:
    memory = judge("def f():\n    return len(b'x' * 4_000_000_000)", "assert f() == 1")
    output = judge(
        "def f():\n    while True:\n        print('x' * 1000)", "assert f() == 1", limits=Limits(output_kb=64)
    )

    assert memory.failures[0].error.startswith("MemoryError")
    assert (output.outcome, output.failures[0].error) == ("output", "the solution: the limit on output was reached")


def test_results_are_the_same_each_time(default_means: str) -> None:
    solution = "def f(x):\n    return {'a', 'b', 'c', x}, object"

    assert judge(solution, "assert f('d') == 1") == judge(solution, "assert f('d') == 1")


@pytest.mark.usefixtures("default_means")
def test_an_object_of_the_solution_is_as_true_as_it_says() -> None:
    solution = """
    class Box:
        def __init__(self, truth):
            self.truth = truth
        def __bool__(self):
            return self.truth
    def f(truth):
        return Box(truth)
    """
    result = judge(solution, "assert f(True)", "assert not f(False)", "assert [1 for _ in 'ab' if f(True)] == [1, 1]")
    assert result.passed, result.failures
