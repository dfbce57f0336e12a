"""What generated code ordinarily does works in the sandbox, and gives the same each time."""

from __future__ import annotations

import asyncio
import importlib.util
import tempfile
from textwrap import dedent

import pytest
from tests.runtime.sandbox.conftest import run

from merrow_runtime.sandbox import Limits, Sandbox, SandboxJob, SandboxResult

pytestmark = pytest.mark.thinned(8, "sandbox")

ORDINARY: dict[str, tuple[str, str]] = {
    "arithmetic": (
        """
        def solve():
            return sum(i * i for i in range(10))
        """,
        "285",
    ),
    "a generator": (
        """
        def squares(n):
            for i in range(n):
                yield i * i
        def solve():
            return list(squares(4))
        """,
        "[0, 1, 4, 9]",
    ),
    "a class": (
        """
        class Stack:
            def __init__(self): self.items = []
            def push(self, x): self.items.append(x)
        def solve():
            s = Stack(); s.push(3); return s.items
        """,
        "[3]",
    ),
    "a dataclass": (
        """
        from __future__ import annotations
        from dataclasses import dataclass, field
        @dataclass
        class P:
            x: int
            y: list[int] = field(default_factory=list)
        def solve():
            return P(1)
        """,
        "P(x=1, y=[])",
    ),
    "recursion": (
        """
        from functools import lru_cache
        @lru_cache(None)
        def fib(n):
            return n if n < 2 else fib(n - 1) + fib(n - 2)
        def solve():
            return fib(80)
        """,
        "23416728348467685",
    ),
    "decimals": (
        """
        from decimal import Decimal, getcontext
        def solve():
            getcontext().prec = 30
            return Decimal(1) / Decimal(7)
        """,
        "0.142857142857142857142857142857",
    ),
    "fractions": (
        """
        from fractions import Fraction
        def solve():
            return Fraction(1, 3) + Fraction(1, 6)
        """,
        "1/2",
    ),
    "regular expressions": (
        r"""
        import re
        def solve():
            return re.sub(r'(\w+) (\w+)', r'\2 \1', 'hello world')
        """,
        "world hello",
    ),
    "itertools": (
        """
        import itertools
        def solve():
            return len(list(itertools.permutations(range(5))))
        """,
        "120",
    ),
    "dates": (
        """
        from datetime import date, timedelta
        def solve():
            return date(2024, 2, 28) + timedelta(2)
        """,
        "2024-03-01",
    ),
    "typing": (
        """
        from typing import List, Optional, TypeVar, Generic
        T = TypeVar('T')
        class Box(Generic[T]):
            def __init__(self, x: T) -> None: self.x = x
        def solve() -> Optional[int]:
            return Box[int](5).x
        """,
        "5",
    ),
    "seeded random numbers": (
        """
        import random
        def solve():
            random.seed(42)
            return [random.randint(1, 100) for _ in range(5)]
        """,
        "[82, 15, 4, 95, 36]",
    ),
    "a heap": (
        """
        import heapq
        def solve():
            h = [5, 1, 4]; heapq.heapify(h); return heapq.heappop(h)
        """,
        "1",
    ),
    "collections": (
        """
        from collections import Counter, defaultdict, deque
        def solve():
            return Counter('abracadabra').most_common(2)
        """,
        "[('a', 5), ('b', 2)]",
    ),
    "big integers": (
        """
        import math
        def solve():
            return math.factorial(100) % (10**9 + 7), math.comb(50, 25)
        """,
        "(437918130, 126410606437752)",
    ),
    "floats": (
        """
        def solve():
            return 0.1 + 0.2, float('inf'), round(2.675, 2)
        """,
        "(0.30000000000000004, inf, 2.67)",
    ),
    "text": (
        """
        def solve():
            return 'ä€😀'.upper().encode('utf-8').hex()
        """,
        "c384e282acf09f9880",
    ),
    "threads": (
        """
        from concurrent.futures import ThreadPoolExecutor
        def solve():
            with ThreadPoolExecutor(4) as pool:
                return list(pool.map(lambda x: x * 2, range(5)))
        """,
        "[0, 2, 4, 6, 8]",
    ),
    "asyncio": (
        """
        import asyncio
        async def go():
            await asyncio.sleep(0.01)
            return await asyncio.gather(*(asyncio.sleep(0, i) for i in range(3)))
        def solve():
            return asyncio.run(go())
        """,
        "[0, 1, 2]",
    ),
    "files of its own": (
        """
        import json, tempfile
        def solve():
            with open('data.json', 'w') as f: json.dump({'a': [1]}, f)
            with tempfile.TemporaryFile('w+') as t:
                t.write('x'); t.seek(0)
                return json.load(open('data.json')), t.read()
        """,
        "({'a': [1]}, 'x')",
    ),
    "a large set in one order": (
        """
        def solve():
            return ''.join(sorted({str(hash(w) % 97) for w in ('a', 'b', 'c')}))
        """,
        "121369",
    ),
    "statistics": (
        """
        import statistics
        def solve():
            return statistics.mean([1, 2, 3, 4]), statistics.median([3, 1, 2])
        """,
        "(2.5, 2)",
    ),
    "matching": (
        """
        def solve():
            match {'kind': 'circle', 'r': 2}:
                case {'kind': 'circle', 'r': r}:
                    return r * r
        """,
        "4",
    ),
    "a local time zone": (
        """
        import time
        from zoneinfo import ZoneInfo
        from datetime import datetime
        def solve():
            return time.tzname, datetime(2024, 7, 1, tzinfo=ZoneInfo('UTC')).isoformat()
        """,
        "(('UTC', 'UTC'), '2024-07-01T00:00:00+00:00')",
    ),
}


def evaluate(means: str, job: SandboxJob, limits: Limits | None = None) -> SandboxResult:
    return run(Sandbox(means, limits).run(job))


@pytest.mark.parametrize("name", [name for name in ORDINARY if name != "a large set in one order"])
def test_ordinary_code_works(means: str, name: str) -> None:
    code, value = ORDINARY[name]

    assert evaluate(means, SandboxJob(dedent(code), entry="solve")) == SandboxResult("ok", value)


def test_hashes_are_the_same_each_time(means: str) -> None:
    code = dedent(ORDINARY["a large set in one order"][0])

    assert evaluate(means, SandboxJob(code, entry="solve")) == evaluate(means, SandboxJob(code, entry="solve"))


def test_printed_text_and_value_are_told_apart(means: str) -> None:
    code = "import os, sys\ndef solve():\n    print('a')\n    sys.stderr.write('b\\n')\n    os.write(1, b'raw')\n    return 'c'"

    result = evaluate(means, SandboxJob(code, entry="solve"))

    assert (result.outcome, result.value, result.stdout) == ("ok", "c", "a\n")
    assert "b\n" in result.stderr


def test_arguments_and_standard_input_reach_the_code(means: str) -> None:
    code = "def add(a, b):\n    return a['x'] + b[0] + int(input())"

    assert evaluate(means, SandboxJob(code, "5\n", "add", ({"x": 1}, [2]))).value == "8"


def test_a_program_without_function_runs_as_main(means: str) -> None:
    code = "if __name__ == '__main__':\n    print(sum(map(int, input().split())))\n"

    assert evaluate(means, SandboxJob(code, "1 2 3")) == SandboxResult("ok", None, "6\n")


def test_a_main_part_does_not_run_beside_a_function(default_means: str) -> None:
    code = "def solve():\n    return 1\nif __name__ == '__main__':\n    input('number? ')"

    assert evaluate(default_means, SandboxJob(code, entry="solve")).value == "1"


@pytest.mark.parametrize(
    ("code", "error", "line"),
    [
        (
            "def solve():\n    return 1 / 0",
            "ZeroDivisionError: division by zero",
            'File "solution.py", line 2, in solve',
        ),
        (
            "def solve():\n    return [][3]",
            "IndexError: list index out of range",
            'File "solution.py", line 2, in solve',
        ),
        ("def solve(:", "SyntaxError: invalid syntax (solution.py, line 1)", 'File "solution.py", line 1'),
        ("x = 1", "NameError: the code defines no function named 'solve'", ""),
        (
            "import sys\ndef solve():\n    sys.exit(3)",
            "SystemExit: the code ended the program with 3",
            'File "solution.py", line 3',
        ),
        (
            "import no_such_module",
            "ModuleNotFoundError: No module named 'no_such_module'",
            'File "solution.py", line 1',
        ),
        ("def solve():\n    open('/etc/passwd')", "PermissionError: ", 'File "solution.py", line 2, in solve'),
        (
            "class E(Exception):\n    def __str__(self): 1 / 0\ndef solve():\n    raise E",
            "",
            'File "solution.py", line 4',
        ),
        (
            "def solve():\n    return open('missing')",
            "FileNotFoundError: [Errno 2] No such file",
            'File "solution.py", line 2',
        ),
        ("solve = '\x00'", "source code string cannot contain null bytes", ""),
        ("def solve():\n    return '\\ud800'", "", ""),
    ],
)
def test_errors_are_shown_as_the_author_of_the_code_would_see_them(
    default_means: str, code: str, error: str, line: str
) -> None:
    result = evaluate(default_means, SandboxJob(code, entry="solve"))

    assert result.outcome == ("error" if error or line else "ok")
    assert error in result.error
    assert line in result.traceback
    assert "merrow" not in result.traceback
    assert tempfile.gettempdir() not in result.traceback


def test_the_folder_has_one_name_in_all_that_leaves(means: str) -> None:
    code = dedent(
        """
        import os
        def solve():
            print(os.getcwd())
            try:
                open(os.path.join(os.getcwd(), "missing"))
            except OSError as error:
                raise ValueError(f"{os.getcwd()} {error}")
        """
    )
    result = evaluate(means, SandboxJob(code, entry="solve"))

    assert result == evaluate(means, SandboxJob(code, entry="solve"))
    assert (result.stdout, result.error) == (
        "/sandbox\n",
        "ValueError: /sandbox [Errno 2] No such file or directory: '/sandbox/missing'",
    )


TEXTS = "".join(map(chr, range(256))) + "\u2028\u20ac\U0001f600\ud800"


@pytest.mark.parametrize(
    "code",
    [
        "def solve(text):\n    return text",
        "class Text(str):\n    def __str__(self): return self\ndef solve(text):\n    return Text(text)",
        "import sys\nsys.modules['json'] = None\ndef solve(text):\n    return text",
        "import os\ndef solve(text):\n    while True:\n        try: os.open('/dev/null', 0)\n        except OSError: return text",
    ],
)
def test_any_text_comes_back_as_it_was_whatever_the_code_leaves(default_means: str, code: str) -> None:
    result = evaluate(default_means, SandboxJob(code, entry="solve", arguments=(TEXTS,)))
    assert (result.outcome, result.value) == ("ok", TEXTS.replace("\ud800", "?"))


def test_what_takes_long_to_import_is_imported_by_code_that_needs_it(default_means: str) -> None:
    """Most programs are so short that their process would take twice as long."""
    code = "import sys\ndef solve():\n    return sorted({'typing', 'json', 're', 'traceback'} & set(sys.modules))"
    assert evaluate(default_means, SandboxJob(code, entry="solve")) == SandboxResult("ok", "[]")


@pytest.mark.parametrize("package", ["numpy", "sympy"])
def test_installed_packages_for_mathematics_can_be_used(means: str, package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed here")
    code = {
        "numpy": "import numpy as np\ndef solve():\n    return np.linalg.solve(np.eye(3) * 2, np.ones(3)).tolist()",
        "sympy": "from sympy import symbols, solve as s\ndef solve():\n    x = symbols('x'); return s(x**2 - 4, x)",
    }[package]

    assert (
        evaluate(means, SandboxJob(code, entry="solve")).value
        == {"numpy": "[0.5, 0.5, 0.5]", "sympy": "[-2, 2]"}[package]
    )


def test_packages_that_are_not_offered_can_not_be_imported(default_means: str) -> None:
    assert evaluate(default_means, SandboxJob("import pytest\ndef solve(): pass", entry="solve")).outcome == "error"


def test_many_at_once_and_in_several_event_loops(default_means: str) -> None:
    sandbox = Sandbox(default_means, concurrency=3)

    async def several() -> list[str | None]:
        jobs = (sandbox.run(SandboxJob("def f(x):\n    return x", "", "f", (number,))) for number in range(8))
        return [result.value for result in await asyncio.gather(*jobs)]

    assert run(several()) == run(several()) == [str(number) for number in range(8)]
