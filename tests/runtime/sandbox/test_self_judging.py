"""Solutions that would have tests compare nothing: by ending a test's iteration, or by defining what the test compares with."""

from __future__ import annotations

import sys
from textwrap import dedent

import pytest
from tests.runtime.sandbox.conftest import run

from merrow_runtime.sandbox import Limits, Sandbox, TestResult

pytestmark = pytest.mark.thinned(8, "sandbox")

LIMITS = Limits(wall_s=60)
DOUBLED = "[2, 4, 6]"


def judge(solution: str, *tests: str, limits: Limits = LIMITS) -> TestResult:
    return run(Sandbox(limits=limits).test(dedent(solution), [dedent(test) for test in tests], "f"))


#: Tests of "f doubles" that ask many times in one expression; `{f}` is how the solution is reached.
ITERATING = (
    "assert all(map(lambda x: {f}(x) == 2 * x, [1, 2, 3]))",
    "assert not any(map(lambda x: {f}(x) != 2 * x, [1, 2, 3]))",
    "for got, want in zip(map({f}, [1, 2, 3]), [2, 4, 6]): assert got == want",
    "for got in iter(lambda: {f}(1), 2): raise AssertionError",
    "assert not list(filter(lambda x: {f}(x) != 2 * x, [1, 2, 3]))",
    "import itertools\nassert not list(itertools.filterfalse(lambda x: {f}(x) == 2 * x, [1, 2, 3]))",
    "import itertools\nfor got, want in itertools.starmap(lambda x, y: ({f}(x), y), [(1, 2)]): assert got == want",
    "assert not sum(map(lambda x: {f}(x) != 2 * x, [1, 2, 3]))",
    "for pair in enumerate(map({f}, [1])): assert pair == (0, 2)",
    "assert [x for x in map({f}, [1, 2, 3])] != []",
    "assert dict(zip([1], map({f}, [1]))) == {{1: 2}}, 'empty'",
    """
    class Each:
        n = 0
        def __iter__(self): return self
        def __next__(self):
            Each.n += 1
            if Each.n > 3: raise StopIteration
            assert {f}(Each.n) == 2 * Each.n
            return Each.n
    for _ in Each(): pass
    """,
    """
    import asyncio
    class Each:
        n = 0
        def __aiter__(self): return self
        async def __anext__(self):
            Each.n += 1
            if Each.n > 3: raise StopAsyncIteration
            assert {f}(Each.n) == 2 * Each.n
    async def go():
        async for _ in Each(): pass
    asyncio.run(go())
    """,
)
RAISED = ("StopIteration", "StopIteration(2)", "StopAsyncIteration", "Own", "OwnAsync", "GeneratorExit", "Hostile")
OWN = """
class Own(StopIteration): pass
class OwnAsync(StopAsyncIteration): pass
class Hostile(StopIteration):
    args = property(lambda self: 1 / 0)
    def __str__(self): raise StopIteration
    __repr__ = __str__
"""
#: Ways in which the solution's exception may reach the test besides a call.
OPERATIONS = {
    "a call": "def f(x): raise {error}",
    "a call back": "def f(x):\n    list(iter(lambda: (_ for _ in ()).throw({error}), 1))\n    raise {error}",
    "an attribute": "class A:\n    @property\n    def a(self): raise {error}\ndef f(x): return A()",
    "an item": "class A:\n    def __getitem__(self, key): raise {error}\ndef f(x): return A()",
    "the length": "class A:\n    def __len__(self): raise {error}\ndef f(x): return A()",
    "the text": "class A:\n    def __str__(self): raise {error}\ndef f(x): return A()",
    "the truth": "class A:\n    def __bool__(self): raise {error}\ndef f(x): return A()",
    "the iterator": "class A:\n    def __iter__(self): raise {error}\ndef f(x): return A()",
}
USES = {
    "a call": "f(x) == 2",
    "a call back": "f(x) == 2",
    "an attribute": "f(x).a == 2",
    "an item": "f(x)[0] == 2",
    "the length": "len(f(x)) == 2",
    "the text": "str(f(x)) == '2'",
    "the truth": "bool(f(x)) == 2",
    "the iterator": "list(f(x)) == [2]",
}


@pytest.mark.parametrize("error", RAISED)
def test_no_exception_ends_the_iteration_of_a_test(default_means: str, error: str) -> None:
    tests = [dedent(test).format(f="f") for test in ITERATING]

    result = judge(f"{OWN}\ndef f(x):\n    raise {error}", *tests)

    assert [failure.test for failure in result.failures] == tests


@pytest.mark.parametrize("way", OPERATIONS)
def test_no_operation_on_an_object_ends_the_iteration_of_a_test(default_means: str, way: str) -> None:
    tests = [f"assert all(map(lambda x: {USES[way]}, [1, 2, 3]))"]

    for error in RAISED:
        result = judge(f"{OWN}\n{OPERATIONS[way].format(error=error)}", *tests)
        assert [failure.test for failure in result.failures] == tests, error


def test_the_end_of_the_solutions_own_iterators_is_an_end(default_means: str) -> None:
    solution = """
    class Own(StopIteration): pass
    def f(n):
        if n < 0: raise Own('below 0')
        return iter(range(n))
    """
    assert judge(
        solution,
        "assert list(f(3)) == [0, 1, 2]",
        "i = f(1)\nnext(i)\ntry: next(i)\nexcept StopIteration: pass\nelse: assert False",
        "try: f(-1)\nexcept Own as error: assert isinstance(error, RuntimeError)\nelse: assert False",
        "assert next(f(0), 'nothing') == 'nothing'",
    ) == TestResult(True, (), "passed")


LYING = """
class Lie:
    forged = True
    def __getattr__(self, name): return Lie()
    def __call__(self, *a, **k): return True
class {name}:
    forged = True
    isclose = allclose = isnan = dumps = eq = staticmethod(lambda *a, **k: True)
    testing = array = Counter = Lie()
def f(x): return 0
"""


@pytest.mark.parametrize(
    ("name", "test"),
    [
        ("math", "assert math.isclose(f(1), 2)"),
        ("np", "assert np.allclose(f(1), [2])"),
        ("numpy", "numpy.testing.assert_allclose(f(1), 2)"),
        ("operator", "assert operator.eq(f(1), 2)"),
        ("json", "assert json.dumps(f(1)) == '2'"),
        ("collections", "assert collections.Counter([f(1)]) == collections.Counter([2])"),
        ("unittest", "unittest.TestCase().assertEqual(f(1), 2)"),
        ("isclose", "assert isclose(f(1), 2)"),
        ("allclose", "assert allclose(f(1), 2)"),
        ("approx", "assert approx(f(1)) == approx(2)"),
        ("Counter", "assert Counter([f(1)]) == Counter([2])"),
    ],
)
@pytest.mark.parametrize("kind", ["class", "function", "import of another"])
def test_a_solution_can_not_define_what_a_test_compares_with(
    default_means: str, name: str, test: str, kind: str
) -> None:
    solution = {
        "class": LYING.format(name=name),
        "function": f"def {name}(*a, **k): return True\n{name}.isclose = {name}.allclose = {name}\ndef f(x): return 0",
        "import of another": f"from unittest.mock import MagicMock as {name}\ndef f(x): return 0",
    }[kind]

    assert not judge(solution, test).passed


def test_no_name_of_a_module_or_of_python_comes_from_the_solution(default_means: str) -> None:
    names = sorted({*sys.stdlib_module_names, *dir(sys.modules["builtins"]), "np", "sp", "pd", "nx", "numpy", "sympy"})
    others = {
        "True",
        "False",
        "None",
        "exit",
        "quit",
        "copyright",
        "credits",
        "license",
        "help",
    }  # constants, and `site`'s
    names = [name for name in names if not name.startswith("_") and name not in others]
    solution = "class Forged:\n    forged = True\n" + "".join(f"{name} = Forged()\n" for name in names)
    solution += "def f(x): return x\n"
    tests = [
        f"f(1)\ntry: used = {name}\nexcept NameError: used = None\nassert not hasattr(used, 'forged')" for name in names
    ]

    result = judge(solution, *tests)

    assert not result.failures
    assert len(names) > 300


@pytest.mark.parametrize(
    ("solution", "test"),
    [
        ("def f(x): return x * 0.1", "assert math.isclose(f(3), 0.3)"),
        ("def f(x): return x * 0.1", "assert isclose(f(3), 0.3)"),
        ("from math import isclose\ndef f(x): return x * 0.1", "assert isclose(f(3), 0.3)"),
        ("from bisect import bisect\ndef f(x): return x", "assert bisect([1, 2], f(1)) == 1"),
        ("from copy import copy\ndef f(x): return x", "assert copy(f([1])) == [1]"),
        ("from datetime import datetime\ndef f(x): return x", "assert f(datetime(2024, 1, 1)) == datetime(2024, 1, 1)"),
        ("def helper(x): return x\ndef f(x): return x", "assert f(helper(1)) == 1"),
        ("def math(x): return x\ndef f(x): return x", "math = 3\nassert f(math) == 3"),
        ("def f(x): return x", "import math as np\nassert np.isclose(f(1.0), 1)"),
        ("import random as math\ndef f(x): return x * 0.1", "assert math.isclose(f(3), 0.3)"),
        ("import json as math\ndef f(x): return x * 0.1", "assert math.isclose(f(3), 0.3)"),
        ("from random import choice as isclose\ndef f(x): return x * 0.1", "assert isclose(f(3), 0.3)"),
    ],
)
def test_honest_names_mean_what_they_say(default_means: str, solution: str, test: str) -> None:
    assert judge(solution, test) == TestResult(True, (), "passed")


def test_a_function_under_test_may_have_any_name(default_means: str) -> None:
    for entry in ("isclose", "math", "sorted", "copy"):
        solution = f"def {entry}(x): return x + 1"
        assert run(Sandbox().test(solution, [f"assert {entry}(1) == 2 == candidate(1)"], entry)).passed


#: Solutions that try something else with Python's machinery; each must fail this test.
TRICKS: dict[str, tuple[str, str]] = {
    "swallows the assertion as a context manager": (
        "class C:\n    def __enter__(self): return self\n    def __exit__(self, *a): return True\ndef f(x): return C()",
        "with f(1) as got: assert got == 2",
    ),
    "swallows it as a generator's context manager": (
        "import contextlib\n@contextlib.contextmanager\ndef f(x):\n    try: yield\n    except BaseException: pass",
        "with f(1): assert False",
    ),
    "orders itself above everything": (
        "class C:\n    __lt__ = __gt__ = __le__ = __ge__ = lambda s, o: True\ndef f(x): return C()",
        "assert 1 < f(1) < 3",
    ),
    "is contained everywhere": (
        "class C:\n    __contains__ = lambda s, o: True\n    __hash__ = lambda s: hash(2)\n    __eq__ = lambda s, o: True\n"
        "def f(x): return C()",
        "assert f(1) in {2} or 2 in f(1)",
    ),
    "is a number to math": (
        "class C:\n    __float__ = lambda s: 2.0\n    __index__ = lambda s: 2\n"
        "    __round__ = lambda s, n=0: 2\ndef f(x): return C()",
        "assert math.isclose(f(1), 2) or round(f(1)) == 2",
    ),
    "formats itself": (
        "class C:\n    __format__ = lambda s, spec: '2.00'\ndef f(x): return C()",
        "assert f'{f(1):.2f}' == '2.00'",
    ),
    "has a class of its own choice": (
        "class C:\n    __class__ = property(lambda s: int)\n    __instancecheck__ = lambda s, o: True\ndef f(x): return C()",
        "assert isinstance(f(1), int)",
    ),
    "changes the expected list through an argument": (
        "import gc\ndef f(x):\n    for o in gc.get_objects():\n        if type(o) is list and o == [2]: o[:] = [1]\n"
        "    return [1]",
        "want = [2]\nassert f([1]) == want",
    ),
    "raises AssertionError's opposite": (
        "class AssertionError(Exception): pass\ndef f(x): raise AssertionError",
        "assert f(1) == 2",
    ),
    "has an error with a hostile text": (
        "class E(Exception):\n    def __str__(self): raise SystemExit(0)\n    __repr__ = __str__\ndef f(x): raise E",
        "assert f(1) == 2",
    ),
    "has an error whose text is endless": (
        "class E(Exception):\n    def __str__(self): return 'x' * 10**7\ndef f(x): raise E",
        "assert f(1) == 2",
    ),
    "has an error that recurses": (
        "class E(Exception):\n    def __str__(self): return str(self)\ndef f(x): raise E",
        "assert f(1) == 2",
    ),
    "has an error without end in its causes": (
        "def f(x):\n    error = ValueError()\n    error.__cause__ = error.__context__ = error\n    raise error",
        "assert f(1) == 2",
    ),
    "kills its own process group on the way": (
        "import os, signal\ndef f(x):\n    os.kill(os.getpid(), signal.SIGKILL)",
        "try: f(1)\nexcept BaseException: pass",
    ),
    "answers an endless generator": ("def f(x):\n    while True: yield 2", "assert list(f(1)) == [2]"),
    "answers with itself nested": ("def f(x):\n    a = []\n    a.append(a)\n    return a", "assert f(1) == [2]"),
    "is not equal to what it is compared with by !=": (
        "class C:\n    __ne__ = lambda s, o: False\n    __eq__ = lambda s, o: True\ndef f(x): return C()",
        "assert not f(1) != 2",
    ),
    "is falsely awaited": (
        "class C:\n    def __await__(self): return iter(())\ndef f(x): return C()",
        "import asyncio\nasync def go(): assert await f(1) == 2\nasyncio.run(go())",
    ),
}


@pytest.mark.parametrize("name", TRICKS)
@pytest.mark.thinned(24)
def test_a_trick_of_pythons_machinery_does_not_pass(default_means: str, name: str) -> None:
    solution, test = TRICKS[name]
    result = judge(solution, test, limits=Limits(wall_s=4))

    assert not result.passed
    assert result.failures[0].error
    assert len(result.failures[0].error) + len(result.failures[0].traceback) < 50_000


def test_a_built_in_can_be_the_solution(default_means: str) -> None:
    for solution in ("f = int", "f = float", "from functools import partial\nf = partial(int, base=10)", "f = abs"):
        argument = "-3" if solution.endswith("abs") else "'3'"
        assert judge(solution, f"assert f({argument}) == 3").passed, solution


def test_an_asynchronous_solution_is_awaited_by_its_tests(default_means: str) -> None:
    solution = """
    import asyncio
    async def f(x):
        await asyncio.sleep(0)
        if x < 0: raise ValueError('below 0')
        return x + 1
    """
    passing = (
        "import asyncio\nassert asyncio.run(f(1)) == 2",
        "assert asyncio.run(candidate(1)) == 2",
        "async def go():\n    return await f(1), await asyncio.gather(f(2), f(3))\nassert asyncio.run(go()) == (2, [3, 4])",
        "try: asyncio.run(f(-1))\nexcept ValueError as error: assert str(error) == 'below 0'\nelse: assert False",
    )
    assert judge(solution, *passing) == TestResult(True, (), "passed")
    assert not judge(solution, "assert f(1) == 2").passed
    assert not judge(solution, "import asyncio\nassert asyncio.run(f(1)) == 3").passed
