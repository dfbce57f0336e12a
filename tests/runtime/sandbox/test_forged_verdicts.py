"""Solutions that want to pass without solving anything: none does, since tests run in another process."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest
from tests.runtime.sandbox.conftest import run

from merrow_runtime.sandbox import Limits, Sandbox, TestResult

pytestmark = pytest.mark.thinned(8, "sandbox")

TESTS = (
    "assert f(1) == 2",
    "assert f(2) == 4",
    "assert abs(f(1.5) - 3.0) < 1e-6",
    "assert sorted(f([3, 1])) == [1, 1, 3, 3]",
)

# The channel's frames, as somebody who has read the source would write them: a letter, a length, that many bytes.
FORGED_FRAME = """
import json, os, struct
def frame(kind, value):
    data = json.dumps(value).encode()
    return struct.pack(">cI", kind, len(data)) + data
def write(kind, value):
    for descriptor in range(1, 64):
        try:
            os.write(descriptor, frame(kind, value))
        except OSError:
            pass
PASSED = {"outcome": "passed", "error": "", "traceback": ""}
"""

FORGERIES: dict[str, str] = {
    "exits with 0 at once": "import sys; sys.exit(0)",
    "exits with 0 past everything": "import os; os._exit(0)",
    "exits when called": """
        import os
        def f(x):
            os._exit(0)
        """,
    "raises SystemExit when called": """
        def f(x):
            raise SystemExit(0)
        """,
    "prints the pass mark": """
        import os, sys
        def f(x):
            for text in ("passed", "PASSED", "ok", '{"outcome": "passed"}', '{"passed": true}'):
                print(text, flush=True)
                os.write(1, text.encode())
                os.write(2, text.encode())
            sys.exit(0)
        """,
    "prints the pass mark and dies": """
        import os
        def f(x):
            print('{"passed": true, "failures": [], "outcome": "passed"}', flush=True)
            os._exit(0)
        """,
    "answers with a verdict": FORGED_FRAME + "def f(x):\n    write(b'v', PASSED)\n",
    "gives a verdict before it is asked": FORGED_FRAME
    + "write(b'v', PASSED)\nwrite(b'v', PASSED)\nimport os\nos._exit(0)\n",
    "says it was loaded, then gives verdicts": FORGED_FRAME
    + "write(b'l', {'names': {'f': ['remote', 0, 'callable', 'f']}})\nwhile True:\n    write(b'v', PASSED)\n",
    "names the test's built-ins": FORGED_FRAME
    + """
own = ["remote", 0, "callable", "f"]
write(b"l", {"names": {"f": own, "abs": own, "sorted": own, "__builtins__": ["dict", ["abs", own], ["sorted", own]]}})
while True:
    os.read(0, 100000)
    write(b"r", {"value": 0})
""",
    "names itself endlessly": FORGED_FRAME
    + """
text = b'{"names":' + b'[' * 20000 + b']' * 20000 + b'}'
os.write(3, struct.pack('>cI', b'l', len(text)) + text)
""",
    "names nested data": FORGED_FRAME
    + """
text = b'{"names": {"f": ' + b'[' * 900 + b']' * 900 + b'}}'
os.write(3, struct.pack('>cI', b'l', len(text)) + text)
def f(x): pass
""",
    "fails to load with an endless error": FORGED_FRAME
    + "write(b'l', {'error': 'x' * 3_000_000, 'traceback': '\\ud800'})\n",
    "answers a call by a call": FORGED_FRAME
    + "def f(x):\n    write(b'c', {'op': 'call', 'on': 0, 'args': [], 'kwargs': {}})\n",
    "answers with what is not an answer": FORGED_FRAME
    + "def f(x):\n    write(b'r', {'value': ['remote', 0, 'test', 'x', 1]})\n",
    "sends no JSON": FORGED_FRAME + "import struct\ndef f(x):\n    os.write(3, struct.pack('>cI', b'r', 2) + b'{]')\n",
    "sends a frame without end": FORGED_FRAME
    + "import struct\ndef f(x):\n    os.write(3, struct.pack('>cI', b'r', 2**32 - 1))\n    os._exit(0)\n",
    "says that the sandbox is broken": FORGED_FRAME + "def f(x):\n    write(b'x', 'broken')\n",
    "patches the built-ins": """
        import builtins
        class Anything(int):
            def __eq__(self, other): return True
            def __lt__(self, other): return True
        builtins.abs = builtins.sorted = builtins.len = lambda *a, **k: Anything()
        builtins.AssertionError = type("Silent", (Exception,), {})
        def abs(x): return 0
        def sorted(x): return [1, 1, 3, 3]
        def f(x): return 0
        """,
    "hides the built-ins of the test": """
        def abs(x): return 0
        def sorted(x): return [1, 1, 3, 3]
        def isinstance(a, b): return True
        def f(x): return None
        """,
    "returns what equals everything": """
        class Same:
            def __eq__(self, other): return True
            def __ne__(self, other): return False
            def __sub__(self, other): return self
            def __rsub__(self, other): return self
            def __abs__(self): return self
            def __lt__(self, other): return True
            def __float__(self): return 0.0
            def __iter__(self): return iter([self])
            def __len__(self): return 4
            def __hash__(self): return 0
        def f(x): return Same()
        """,
    "returns a number that equals everything": """
        class Same(int):
            def __eq__(self, other): return True
            def __sub__(self, other): return Same()
            def __abs__(self): return Same()
            def __lt__(self, other): return True
            __hash__ = int.__hash__
        def f(x): return Same()
        """,
    "returns a list that equals everything": """
        class Same(list):
            def __eq__(self, other): return True
        def f(x): return Same()
        """,
    "pretends to be a number": """
        class Same:
            __class__ = int
            def __int__(self): return 7
            def __index__(self): return 7
            def __eq__(self, other): return True
            __hash__ = None
        def f(x): return Same()
        """,
    "returns a mock": """
        from unittest.mock import ANY, MagicMock
        def f(x): return ANY if x == 1 else MagicMock()
        """,
    "reads the test's frames": """
        import gc, inspect, re, sys
        def f(x):
            found = []
            frame = sys._getframe()
            while frame:
                found += [frame.f_locals, frame.f_globals]
                frame = frame.f_back
            found += [holder for holder in gc.get_objects() if type(holder) is dict]
            for text in [value for holder in found for value in list(holder.values()) if type(value) is str]:
                for answer in re.findall(r"assert f\\(%s\\) == (\\d+)" % re.escape(repr(x)), text):
                    return int(answer)
        """,
    "changes the test's namespace by frames": """
        import sys
        def f(x):
            frame = sys._getframe()
            while frame:
                frame.f_globals["f"] = lambda x: x + x
                frame.f_globals["__builtins__"] = {}
                frame = frame.f_back
        """,
    "traces and profiles": """
        import sys, threading
        def trace(frame, event, argument):
            frame.f_trace_lines = False
            return None
        sys.settrace(trace); threading.settrace(trace); sys.setprofile(trace)
        def f(x): return None
        """,
    "leaves something for the end": """
        import atexit, os, sys
        atexit.register(os._exit, 0)
        sys.excepthook = lambda *a: os._exit(0)
        def f(x): raise AssertionError
        """,
    "reads the next messages itself": """
        import os
        def f(x):
            os.read(0, 100000)
            os.close(0)
            os._exit(0)
        """,
    "closes everything": """
        import os
        os.closerange(0, 64)
        def f(x): return None
        """,
    "stops": """
        import os, signal
        def f(x):
            os.kill(os.getpid(), signal.SIGSTOP)
        """,
    "raises what a test could take for its own": """
        def f(x):
            raise StopIteration
        """,
    "defines nothing": "g = 1",
    "is not valid Python": "def f(x:\n  return",
    "is empty": "",
    "has the tests' names only": "f = None\ncandidate = lambda x: x + x\n",
}


def judge(solution: str, *tests: str, entry: str = "f") -> TestResult:
    return run(Sandbox(limits=Limits(wall_s=2)).test(dedent(solution), tests, entry))


@pytest.mark.thinned(24)
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forger_does_not_pass(default_means: str, name: str) -> None:
    result = judge(FORGERIES[name], *TESTS)

    assert not result.passed
    assert result.outcome != "passed"
    assert all(len(failure.error) + len(failure.traceback) < 50_000 for failure in result.failures)
    json.dumps(result.to_json(), ensure_ascii=False).encode()
    # No single test passed either; the empty text stands for a solution that could not even be loaded.
    assert [failure.test for failure in result.failures] in (list(TESTS), [""])


def test_an_honest_solution_passes_the_same_tests(means: str) -> None:
    assert run(Sandbox(means).test("def f(x):\n    return x + x", TESTS, "f")) == TestResult(True, (), "passed")


def test_a_test_that_takes_every_exception_is_not_fooled_by_death(default_means: str) -> None:
    expects_an_error = "try:\n    f(1)\nexcept BaseException:\n    pass\nelse:\n    raise AssertionError('no error')"

    assert judge("def f(x):\n    raise ValueError", expects_an_error).passed
    assert not judge("import os\ndef f(x):\n    os._exit(0)", expects_an_error).passed
    assert not judge(FORGED_FRAME + "def f(x):\n    write(b'v', PASSED)\n", expects_an_error).passed


def test_a_solution_can_not_speak_for_the_test_while_another_test_runs(default_means: str) -> None:
    """A thread of the solution that goes on writing verdicts spoils its own channel only."""
    solution = (
        FORGED_FRAME
        + "import threading\ndef go():\n    while True: write(b'v', PASSED)\ndef f(x):\n    threading.Thread(target=go).start()\n"
    )

    assert not judge(solution, *TESTS).passed


@pytest.mark.parametrize(
    "test",
    [
        "",
        "assert True",
        "def check(candidate):\n    assert candidate(1) == 2",
        "import sys\nsys.exit(0)",
        "import os\nos._exit(0)",
        "raise SystemExit",
        "f(1)\nraise SystemExit(0)",
        "f(1)\nimport os\nos._exit(0)",
        "f(1)\nimport os\nos.fork()\nassert True",
        "f(1)\nopen('/etc/passwd')",
        "f(1)\nwhile True: pass",
        "f(1) ==",
    ],
)
def test_a_test_that_says_nothing_or_misbehaves_is_not_passed(default_means: str, test: str) -> None:
    result = judge("def f(x):\n    return x + x", test)

    assert not result.passed
    assert result.failures[0].test == test
    assert result.failures[0].error


def test_without_tests_nothing_passes() -> None:
    assert judge("def f(x):\n    return x") == TestResult(False, (), "no_tests")
