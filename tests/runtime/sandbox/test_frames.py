"""What the process of a solution and that of its tests say to each other, frame by frame, and the verdicts that come of it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.sandbox.between import Frame, judged, served, talked

from merrow_runtime.sandbox.guest.channel import TooLongError
from merrow_runtime.sandbox.guest.running import MAX_MESSAGE, cut

CODE = """
import math
from dataclasses import dataclass
LIMIT = 10
NAMES = ["a", (1, 2)]
_own = 1
__hidden = 2
ENDLESS = []
ENDLESS.append(ENDLESS)
class TooBig(ValueError):
    pass
@dataclass
class P:
    x: int
class Odd:
    __slots__ = ("a", "b")
    def __init__(self):
        self.a = 1
class One:
    __slots__ = "c"
def f(*arguments, **named):
    return [*arguments, named]
def change(items, table, some, data, text, more):
    items.append(3)
    table["n"] = 1
    some.add(2)
    data.append(7)
    return text
def fails(error):
    raise {"value": ValueError("no", 3), "odd": KeyError(object), "big": TooBig("too big"), "exit": SystemExit(3)}[error]
def late():
    yield 1
    yield 2
    raise TooBig("late")
async def later(x):
    return x + 1
def calls(function, x):
    return function(x, again=x + 1)
def odd():
    return Odd()
def one():
    made = One()
    made.c = 3
    return made
"""
#: The numbers by which the objects of `CODE` go, in the order in which it defines them.
DATACLASS, P, ODD, ONE, F, CHANGE, FAILS, LATE, LATER, CALLS, MAKES_ODD, MAKES_ONE, NEXT = range(13)


def ask(operation: str, on: int, *arguments: Any, **named: Any) -> Frame:
    return ("c", {"op": operation, "on": on, "args": list(arguments), "kwargs": named})


def answers(*frames: Frame) -> list[Frame]:
    return served(CODE, *frames)[1:]


def result(value: Any) -> Frame:
    return ("r", {"value": value})


def test_a_solution_says_what_it_defines() -> None:
    def function(number: int, name: str) -> list[Any]:
        return ["remote", number, "callable", name]

    assert served(CODE) == [
        (
            "l",
            {
                "dataclass": function(DATACLASS, "dataclass"),
                "LIMIT": 10,
                "NAMES": ["list", "a", ["tuple", 1, 2]],
                "_own": 1,
                "TooBig": ["exception", "TooBig", "ValueError", "Exception", "BaseException", "object"],
                "P": function(P, "P"),
                "Odd": function(ODD, "Odd"),
                "One": function(ONE, "One"),
                "f": function(F, "f"),
                "change": function(CHANGE, "change"),
                "fails": function(FAILS, "fails"),
                "late": function(LATE, "late"),
                "later": function(LATER, "later"),
                "calls": function(CALLS, "calls"),
                "odd": function(MAKES_ODD, "odd"),
                "one": function(MAKES_ONE, "one"),
            },
        )
    ]
    # The function under test goes by number, even where it would go as data by itself; what is no function goes as it is.
    assert served("f = int\ng = int") == [("l", {"f": ["remote", 0, "callable", "int"], "g": ["type", "int"]})]
    assert served("f = 3\nclass g: pass\ng = g()") == [("l", {"f": 3, "g": ["remote", 0, "object", "g"]})]


def test_a_solution_that_can_not_be_loaded_says_why() -> None:
    ((kind, said),) = served("x = 1\nx / 0")
    assert (kind, said["outcome"], said["error"]) == ("f", "error", "ZeroDivisionError: division by zero")
    assert said["traceback"].splitlines()[:3] == [
        "Traceback (most recent call last):",
        '  File "solution.py", line 2, in <module>',
        "    x / 0",
    ]
    ((kind, said),) = served("x = (")
    assert (kind, said["error"]) == ("f", "SyntaxError: '(' was never closed (solution.py, line 1)")
    ((kind, said),) = served("raise MemoryError")
    assert (kind, said["outcome"], said["error"]) == ("f", "memory", "MemoryError")
    # What a solution raises of its own is a failure to load, too.
    ((kind, said),) = served("raise SystemExit(0)")
    assert (kind, said["outcome"], said["error"]) == ("f", "error", "SystemExit: 0")


def test_each_operation_on_an_object_has_its_answer() -> None:
    made = ask("call", P, ["int", "0x5"])
    assert answers(made, ask("getattr", NEXT, "x"), ask("setattr", NEXT, "x", 6), ask("getattr", NEXT, "x")) == [
        result(["remote", NEXT, "object", "P"]),
        result(5),
        result(None),
        result(6),
    ]
    assert answers(ask("call", F, 1, a=2)) == [result(["list", 1, ["dict", ["a", 2]]])]
    assert answers(made, ask("repr", NEXT), ask("str", NEXT), ask("bool", NEXT)) == [
        result(["remote", NEXT, "object", "P"]),
        result("P(x=5)"),
        result("P(x=5)"),
        result(True),
    ]
    table = served(
        "class T(dict): pass\nclass f:\n    def __init__(self): self.t = {1: 2}\n"
        "    def __len__(self): return len(self.t)\n    def __getitem__(self, k): return self.t[k]\n"
        "    def __setitem__(self, k, v): self.t[k] = v\n    def __delitem__(self, k): del self.t[k]\n"
        "    def __iter__(self): return iter(self.t)\n",
        ask("call", 1),
        ask("getitem", 2, 1),
        ask("setitem", 2, 3, 4),
        ask("len", 2),
        ask("delitem", 2, 1),
        ask("iter", 2),
        ask("next", 3, 5),
        ask("len", 2),
    )
    assert table[1:] == [
        result(["remote", 2, "object", "f"]),
        result(2),
        result(None),
        result(2),
        result(None),
        result(["remote", 3, "iterator", "dict_keyiterator"]),
        result(["dict", ["items", ["list", 3]], ["end", True]]),
        result(1),
    ]
    assert answers(ask("call", LATER, 4), ask("await", NEXT)) == [
        result(["remote", NEXT, "coroutine", "coroutine"]),
        result(5),
    ]


def test_what_a_call_left_of_its_arguments_comes_back() -> None:
    sent = (["list", 1], ["dict"], ["set", 1], ["bytearray", "01"], "text", ["list", 5])
    assert answers(ask("call", CHANGE, *sent)) == [
        (
            "r",
            {
                "value": "text",
                "changed": {
                    "0": ["list", 1, 3],
                    "1": ["dict", ["n", 1]],
                    "2": ["set", 1, 2],
                    "3": ["bytearray", "0107"],
                },
            },
        )
    ]


def test_items_come_in_batches_and_what_fails_late_fails_after_them() -> None:
    found = answers(ask("call", LATE), ask("next", NEXT, 1), ask("next", NEXT, 5), *[ask("next", NEXT, 5)] * 2)
    assert found[:3] == [
        result(["remote", NEXT, "iterator", "generator"]),
        result(["dict", ["items", ["list", 1]], ["end", False]]),
        result(["dict", ["items", ["list", 2]], ["end", False]]),
    ]
    assert found[3][1]["raise"]["error"] == "solution.TooBig: late"
    assert found[4] == result(["dict", ["items", ["list"]], ["end", True]])


def test_what_fails_at_the_first_item_of_a_batch_fails_at_once() -> None:
    found = answers(ask("call", LATE), *[ask("next", NEXT, 1)] * 4)
    assert [said.get("value") for _, said in found[1:]] == [
        ["dict", ["items", ["list", 1]], ["end", False]],
        ["dict", ["items", ["list", 2]], ["end", False]],
        None,
        ["dict", ["items", ["list"]], ["end", True]],
    ]
    assert found[3][1]["raise"]["error"] == "solution.TooBig: late"


@pytest.mark.parametrize("problem", [TooLongError("no"), MemoryError()], ids=repr)
def test_of_names_that_are_too_many_the_functions_stay(problem: Exception) -> None:
    code = "TABLE = [1, 2]\nclass E(Exception): pass\ndef f(): pass\nNOTHING = None"
    assert served(code, refused=[problem]) == [
        (
            "l",
            {
                "E": ["exception", "E", "Exception", "BaseException", "object"],
                "f": ["remote", 0, "callable", "f"],
            },
        )
    ]


def test_fields_are_told_of_dictionaries_and_slots_and_whether_they_are_compared() -> None:
    def fields(name: str, by_value: bool, *pairs: Any) -> Frame:
        return result(["dict", ["class", name], ["by_value", by_value], ["fields", ["dict", *pairs]]])

    calls = (ask("call", P, 5), ask("call", MAKES_ODD), ask("call", MAKES_ONE))
    assert answers(*calls, *(ask("fields", NEXT + number) for number in range(3)))[3:] == [
        fields("P", True, ["x", 5]),
        fields("Odd", False, ["a", 1]),
        fields("One", False, ["c", 3]),
    ]


def test_what_a_solution_raises_travels_with_its_bases_arguments_and_place() -> None:
    (kind, said), *others = answers(*(ask("call", FAILS, name) for name in ("value", "odd", "big", "exit")))
    raised = said["raise"]
    assert (kind, raised["mro"]) == ("r", ["ValueError", "Exception", "BaseException", "object"])
    assert (raised["args"], raised["error"], raised["outcome"]) == (
        ["list", "no", 3],
        "ValueError: ('no', 3)",
        "error",
    )
    places = [line for line in raised["traceback"].splitlines() if line.startswith("  File")]
    assert places == ['  File "solution.py", line 30, in fails']
    odd, big, left = (said["raise"] for _, said in others)
    assert odd["args"] == ["list", ["type", "object"]]
    assert (big["mro"][:2], big["args"]) == (["TooBig", "ValueError"], ["list", "too big"])
    assert (left["mro"][0], left["error"]) == ("SystemExit", "SystemExit: 3")
    unknown = served("def f():\n    raise ValueError(f)", ask("call", 0))[1][1]["raise"]
    assert unknown["args"] == ["list", unknown["error"]]
    nothing = answers(("c", {"op": "none", "on": F, "args": [], "kwargs": {}}), ask("call", 99))
    assert [said["raise"]["error"] for _, said in nothing] == [
        "KeyError: 'none'",
        "IndexError: list index out of range",
    ]
    assert "unknown kind of value 'what'" in answers(ask("call", F, ["what", 1]))[0][1]["raise"]["error"]
    # What can't be sent is told in its place.
    assert answers(ask("call", F, ["iterator", 1, 2]), ask("next", NEXT, 9)) == [
        result(["list", ["remote", NEXT, "iterator", "list_iterator"], ["dict"]]),
        result(["dict", ["items", ["list", 1, 2]], ["end", True]]),
    ]


def test_a_solution_calls_the_test_back_and_is_called_meanwhile() -> None:
    asked = ask("call", CALLS, ["callback", 4], 1)
    back = ("b", {"id": 4, "args": [1], "kwargs": {"again": 2}})
    assert answers(asked, ("a", {"value": ["tuple", 7]})) == [back, result(["tuple", 7])]
    assert answers(asked, ask("call", F, 5), ("a", {"value": 7})) == [back, result(["list", 5, ["dict"]]), result(7)]
    refused = answers(asked, ("a", {"raise": "ValueError: no"}))
    assert refused[0] == back
    assert (refused[1][1]["raise"]["mro"][0], refused[1][1]["raise"]["error"]) == (
        "CallbackError",
        "CallbackError: ValueError: no",
    )


def test_what_is_not_to_be_called_again_keeps_its_number() -> None:
    assert answers(ask("call", F, ["remote", P]), ask("call", F, ["remote", F])) == [
        result(["list", ["remote", P, "callable", "P"], ["dict"]]),
        result(["list", ["remote", F, "callable", "f"], ["dict"]]),
    ]


def said_of(code: str, *tests: str, entry: str = "f") -> list[str]:
    """The error of each test; "" where it passed."""
    verdicts, _ = talked(code, *tests, entry=entry)
    assert [verdict["outcome"] == "passed" for verdict in verdicts] == [not verdict["error"] for verdict in verdicts]
    return [verdict["error"] for verdict in verdicts]


LONG = cut(repr("a" * 1000), 400)
ECHO = "def f(*items, **named):\n    return items[0] if len(items) == 1 and not named else (items, named)\n"


@pytest.mark.parametrize(
    ("test", "error"),
    [
        ("assert f(1) == 2", "AssertionError: f(1) returned 1"),
        ("assert f(1) == 2, 'two'", "AssertionError: two (f(1) returned 1)"),
        ("assert False, 'two'", "AssertionError: two"),
        ("assert False", "AssertionError"),
        ("assert f(1, b='c') == 2", "AssertionError: f(1, b='c') returned ((1,), {'b': 'c'})"),
        ("assert f('a' * 1000) == 2", f"AssertionError: {cut(f'f({LONG}) returned {LONG}', 800)}"),
        ("f(1)\n1 / 0", "ZeroDivisionError: division by zero"),
        ("f(1)\nraise SystemExit(3)", "SystemExit: 3"),
        ("f(1)\nraise MemoryError", "MemoryError"),
        ("f(1", "SyntaxError: '(' was never closed (test_1.py, line 1)"),
        ("f(object())", "TypeError: a value of type object can't be passed to the solution"),
        ("class Shy:\n    def __repr__(self): 1 / 0\n    def __call__(self): pass\nassert f(Shy()) == 3", "<Shy>"),
        ("assert f is candidate and f(1)", ""),
        ("assert f(f) == f and hash(f(f)) == hash(f)", ""),
        ("assert f(f) == 3", "AssertionError: f(<f>) returned <f>"),
        ("assert f(f) and f(f).__name__", "AttributeError: __name__"),
        ("assert f(sorted)([2, 1]) == [1, 2]", ""),
        ("def g(x):\n    return x\nassert f(g)(3) == 3", ""),
        ("assert list(f(iter('ab'))) == ['a', 'b']", ""),
        ("x = f(iter('ab'))\nassert x and iter(x) is x and [next(x), next(x)] == ['a', 'b']\nnext(x)", "StopIteration"),
    ],
)
def test_each_end_of_a_test_has_its_sentence(test: str, error: str) -> None:
    (found,) = said_of(ECHO, test)
    assert error in found
    assert bool(found) == bool(error)
    assert found == error or "Shy" in test


OBJECTS = """
class f:
    def __init__(self, x):
        self.x = x
class Alike(f):
    def __eq__(self, other):
        return True
class No:
    __len__ = lambda self: 7
    def fails(self):
        raise TooOdd("odd")
class TooOdd(LookupError):
    pass
class Strange(Exception):
    def __init__(self, one, two):
        super().__init__(one)
class Ended(StopIteration):
    pass
def strange():
    raise Strange(1, 2)
def ends():
    raise Ended
def leaves():
    raise SystemExit(3)
def empties(items, table, some, data):
    items[:] = []
    table.clear()
    some.clear()
    data[:] = b""
def replaces(items):
    items.append(4)
async def later():
    return 5
"""


@pytest.mark.parametrize(
    ("test", "error"),
    [
        ("x = f(1)\nassert x == x and x != f(1) and x != 3 and not x == 3", ""),
        ("assert Alike(1) == Alike(1) and Alike(1) != Alike(2) and Alike(1) != f(1)", ""),
        ("x = f(1)\nx.x = 5\nassert x.x == 5", ""),
        ("assert isinstance(f(1), f) and not isinstance(f(1), No) and not isinstance(3, f)", ""),
        ("assert len(No()) == 7 and No()", ""),
        ("iter(f(1))", "TypeError: 'f' object is not iterable"),
        ("f(1) + 1", "TypeError: unsupported operand type(s) for +: 'Remote' and 'int'"),
        ("No().fails()", "solution.TooOdd: odd"),
        ("try:\n    No().fails()\nexcept TooOdd as e:\n    assert e.args == ('odd',)", ""),
        ("try:\n    No().fails()\nexcept LookupError:\n    pass", ""),
        ("strange()", "solution.Strange: 1"),
        ("ends()", "solution.Ended"),
        ("leaves()", "RuntimeError: SystemExit: 3"),
        (
            "a, b, c, d = [1], {1: 2}, {1}, bytearray(b'x')\nempties(a, b, c, d)\n"
            "assert (a, b, c, d) == ([], {}, set(), bytearray())",
            "",
        ),
        ("a = [1, 2]\nreplaces(a)\nassert a == [1, 2, 4]", ""),
        ("import asyncio\nx = later()\nassert x and asyncio.run(x) == 5", ""),
        ("import asyncio\nasync def all():\n    return await later()\nassert asyncio.run(all()) == 5", ""),
    ],
)
def test_objects_of_a_solution_do_in_a_test_what_they_may(test: str, error: str) -> None:
    (found,) = said_of(OBJECTS, test)
    assert found == error


def test_items_are_asked_for_in_batches_that_grow_to_a_limit() -> None:
    code = "def f():\n    yield from range(5000)"
    verdicts, sent = talked(code, "assert list(f()) == list(range(5000))")
    assert [verdict["error"] for verdict in verdicts] == [""]
    counts = [said["args"][0] for _, said in sent if said["op"] == "next"]
    assert counts == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024, 1024, 1024]


def test_a_verdict_shows_the_places_in_both_and_nothing_of_the_test_before() -> None:
    code = "def f(x):\n    return 1 / x"
    first, second, third = talked(code, "f(0)", "y = 1\nassert f(1) == 2", "assert False")[0]
    places = [
        [line for line in verdict["traceback"].splitlines() if line.startswith("  File")]
        for verdict in (first, second, third)
    ]
    assert places == [
        ['  File "solution.py", line 2, in f', '  File "test_1.py", line 1, in <module>'],
        ['  File "test_2.py", line 2, in <module>'],
        ['  File "test_3.py", line 1, in <module>'],
    ]
    assert [verdict["error"] for verdict in (first, second, third)] == [
        "ZeroDivisionError: division by zero",
        "AssertionError: f(1) returned 1.0",
        "AssertionError",
    ]
    assert {verdict["outcome"] for verdict in (first, second, third)} == {"error"}
    assert talked(code, "f(1)")[0] == [{"outcome": "passed", "error": "", "traceback": ""}]
    assert talked(code, "raise MemoryError")[0][0]["outcome"] == "memory"


@pytest.mark.parametrize(
    ("code", "test", "error"),
    [
        ("import math", "assert math.pi > 3", ""),
        ("import math as m", "assert m.pi", "NameError: name 'm' is not defined"),
        ("import numpy as np", "assert np.zeros(1)[0] == 0", ""),
        ("import numpy as n", "assert n.zeros(1)", "NameError: name 'n' is not defined"),
        ("from math import floor", "assert floor(1.5) == 1", ""),
        ("from math import floor as down", "assert down(1.5) == 1 and f(0) == 0", ""),
        ("from math import floor as floor", "assert floor(1.5) == 1", ""),
        ("from itertools import *", "assert list(chain('a', 'b')) == ['a', 'b']", ""),
        ("", "assert isclose(1, 1) and math.pi and np.zeros(1)[0] == 0", ""),
        ("def isclose(a, b): return True", "assert isclose(1, 2)", "AssertionError"),
        ("def approx(a): return a", "assert approx(1)", "NameError: name 'approx' is not defined"),
        ("math = 3", "assert math.pi > 3", ""),
        ("math = 3", "try:\n    math\nexcept NameError:\n    math = 4\nassert math == 4", ""),
        ("", "assert isnan(nan := float('nan')) and not isinf(1) and isfinite(1) and fabs(-1) == 1", ""),
        ("", "assert allclose([1], [1]) and array_equal([1], [1]) and array_equiv([1], [1])", ""),
        ("", "assert_allclose([1], [1]), assert_almost_equal(1, 1), assert_array_equal([1], [1])", ""),
        ("", "assert_equal(1, 1), assert_array_almost_equal([1], [1]), assert_approx_equal(1, 1)", ""),
        ("", "assert Counter('a') == OrderedDict(a=1) == defaultdict(int, a=1) and list(deque([1])) == [1]", ""),
        ("", "assert Decimal(1) == Fraction(1) == deepcopy(1)", ""),
        ("", "assert issubclass(TestCase, unittest.TestCase)", ""),
        ("from bisect import bisect", "assert bisect([1], 2) == 1", ""),
        ("LIMIT = 3", "assert LIMIT == 3", ""),
        ("def helper(): return 3", "assert helper() == 3", ""),
        ("len = 3", "assert len('ab') == 2", ""),
        ("", "math = 4\nassert math == 4", ""),
        ("", "assert nothing", "NameError: name 'nothing' is not defined"),
    ],
)
def test_each_name_of_a_test_means_what_the_solution_can_not_change(code: str, test: str, error: str) -> None:
    (found,) = said_of(f"{code}\ndef f(x):\n    return x\n", test)
    assert found.partition(".")[0].partition(" (")[0] == error


def test_a_function_under_test_may_be_called_like_what_a_test_compares_with() -> None:
    assert said_of("def isclose(a): return a", "assert isclose(3) == 3", entry="isclose") == [""]
    assert said_of("def math(a): return a", "assert math(3) == 3 and candidate(4) == 4", entry="math") == [""]


def test_an_exception_of_one_test_says_nothing_of_its_namesake_in_the_next() -> None:
    code = """
    def f(kind):
        class E(kind and ValueError or KeyError):
            pass
        raise E
    """
    tests = ("try:\n    f(1)\nexcept ValueError:\n    pass", "try:\n    f(0)\nexcept KeyError:\n    pass")
    assert said_of(code, *tests) == ["", ""]


def verdict_on(*frames: Frame, code: str = "", test: str = "f(1)", entry: str = "f") -> dict[str, Any]:
    """The verdict of a test that is sent these frames after the names `f` and `g`."""
    names = {"f": ["remote", 0, "callable", "f"], "g": ["remote", 1, "object", "G"]}
    sent = judged(code, ("l", names), ("t", {"number": 1, "test": test}), *frames, entry=entry)
    assert sent[-1][0] == "v"
    return sent[-1][1]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("names", "error"),
    [
        ({}, "NameError: the solution defines no function named 'f'"),
        ({"f": 3}, "NameError: the solution defines no function named 'f'"),
        ([3], "NameError: the solution defines no function named 'f'"),
        (b"{broken", "NameError: the solution defines no function named 'f'"),
        (b"[" * 100_000, "NameError: the solution defines no function named 'f'"),
        ({"f": ["what"]}, "ValueError: the solution's process answered with something unknown"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_solution_without_the_function_fails_each_test(names: Any, error: str) -> None:
    ((kind, said),) = judged("", ("l", names), ("t", {"number": 1, "test": "f(1)"}))
    assert (kind, said["outcome"], said["error"]) == ("v", "error", error)
    if error.startswith("NameError"):
        assert said["traceback"] == error


UNKNOWN = "ValueError: the solution's process answered with something unknown"


@pytest.mark.parametrize(
    ("frame", "test", "error"),
    [
        (("r", {"value": 1}), "assert f(1) == 1", ""),
        (("r", [1]), "f(1)", UNKNOWN),
        (("r", {"value": ["what", 1]}), "f(1)", UNKNOWN),
        (("r", {"value": ["callback", 0]}), "f(1)", UNKNOWN),
        (("r", {"value": ["callback", -1]}), "f(print)", UNKNOWN),
        (("r", {"value": ["callback", 1]}), "f(print)", UNKNOWN),
        (("r", {"value": ["callback", True]}), "f(print, open)", UNKNOWN),
        (("r", {"value": ["callback", 0]}), "assert f(print) is print", ""),
        (("r", {"value": ["remote", 1, "object"]}), "f(1)", UNKNOWN),
        (("r", {"value": ["remote", "1", "object", "G"]}), "f(1)", UNKNOWN),
        (("r", {"value": ["remote", 1, "strange", "G"]}), "assert f(1) == g", ""),
        (("r", {"value": ["exception"]}), "assert f(1) is Exception", ""),
        (("r", {"value": ["exception", "Exception", "BaseException"]}), "assert f(1) is Exception", ""),
        (("r", {"value": ["exception", "A", "BaseException", "KeyError"]}), "assert issubclass(f(1), KeyError)", ""),
        (("r", {"value": ["exception", "StopAsyncIteration", "Exception"]}), "assert f(1) is RuntimeError", ""),
        (("r", {"value": ["exception", "A", "KeyboardInterrupt"]}), "assert f(1) is RuntimeError", ""),
        (("r", {"value": 7}), "assert str(g) == '?'", ""),
        (("r", {"value": 7}), "assert repr(g) == '?'", ""),
        (("r", {"value": "7"}), "len(g)", "TypeError: the length is not a number"),
        (("r", {"value": True}), "len(g)", "TypeError: the length is not a number"),
        (("r", {"value": 1}), "assert not g", ""),
        (("r", {"value": ["list", 1]}), "iter(g)", "TypeError: 'G' object is not iterable"),
        (("d", "it died"), "f(1)", "SolutionDiedError: it died"),
        (("r", {"value": 1, "changed": {"0": ["list", 2]}}), "a = [1]\nf(a)\nassert a == [2]", ""),
        (("r", {"value": 1, "changed": {"0": ["tuple", 2]}}), "a = [1]\nf(a)\nassert a == [1]", ""),
    ],
)
def test_whatever_a_solutions_process_answers_is_taken_as_data_or_refused(frame: Frame, test: str, error: str) -> None:
    verdict = verdict_on(frame, test=test)
    assert verdict["error"].removeprefix("builtins.") == error
    assert verdict["outcome"] == ("error" if error else "passed")


def test_a_test_answers_when_it_is_called_back() -> None:
    names = {"f": ["remote", 0, "callable", "f"]}
    back = ("b", {"id": 0, "args": [3], "kwargs": {"by": 4}})
    for body, answer in (
        ("return x * by", {"value": 12}),
        ("return [x]", {"value": ["list", 3]}),
        ("raise ValueError('no')", {"raise": "ValueError: no"}),
        ("return object()", {"raise": "TypeError: a value of type object can't be passed to the solution"}),
    ):
        test = f"def g(x, by):\n    {body}\nassert f(g) == 1"
        assert judged("", ("l", names), ("t", {"number": 1, "test": test}), back, ("r", {"value": 1})) == [
            ("c", {"op": "call", "on": 0, "args": [["callback", 0]], "kwargs": {}}),
            ("a", answer),
            ("v", {"outcome": "passed", "error": "", "traceback": ""}),
        ]
    nothing = judged("", ("l", names), ("t", {"number": 1, "test": "f(1)"}), back, ("r", {"value": 1}))
    assert nothing[1] == ("a", {"raise": "IndexError: list index out of range"})


@pytest.mark.parametrize(
    ("length", "limit", "shown"),
    [
        (10, 10, "abcdefghij"),
        (9, 10, "abcdefghi"),
        (11, 10, "abcde\n[... 1 characters left out ...]\nghijk"),
        (26, 4, "ab\n[... 22 characters left out ...]\nyz"),
    ],
)
def test_long_texts_are_cut_in_the_middle(length: int, limit: int, shown: str) -> None:
    assert cut("abcdefghijklmnopqrstuvwxyz"[:length], limit) == shown


def test_long_errors_and_tracebacks_are_cut() -> None:
    ((_, said),) = served("raise ValueError('x' * 30_000)")
    left_out = len("ValueError: ") + 30_000 - MAX_MESSAGE
    assert said["error"] == f"ValueError: {'x' * 988}\n[... {left_out} characters left out ...]\n{'x' * 1000}"
    assert 8000 < len(said["traceback"]) < 8100
