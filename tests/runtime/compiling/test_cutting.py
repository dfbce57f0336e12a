"""Code cut out of modules: all that some names reach, and no more, under names that don't meet, without annotations."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import merrow_runtime
from merrow_runtime.compiling.cutting import cut_out

Write = Callable[[str, str], None]

WORDS = '''\
"""Words."""

from __future__ import annotations

import re as regex
from collections import Counter
from json import dumps
from typing import Generic, Protocol, TypeVar

__all__ = ["Box"]
T = TypeVar("T")
_SMALL, LARGE = 1, 2
NAMES: dict[str, int] = {"a": 1}
PLAIN: int
"""Only for type checkers."""
_shared = regex.compile("x")
UNUSED = LARGE


class Box(Generic[T]):
    """A box."""

    kept: int
    known: ClassVar[int] = 3
    default: list[int] = field(default_factory=list)

    def of(self, one: T, *more: int, named: str = "x", **others: object) -> list[T]:
        found: list[T] = [one]
        left: int
        self.kept: int = 3
        return found + list[T](more) + [dumps(found)] + self.of(one)


class Says(Protocol):
    def say(self) -> str: ...  # type: ignore[empty-body]


class Both(Says, Generic[T], metaclass=type):
    pass


class Three(Generic[T], Says):
    known = 1

    def say(self, known: int = known) -> str:
        return str(known) + str(self.known)


class Last(Says, Generic[T]):
    known = 1

    def say(self) -> str:
        return known


known = 2


class Odd(Generic[T],Says):
    kept: int = _shared
    _hidden = 1
    of: int = _hidden
    re = 4

    def say(self, *, one: int, two: int = _shared) -> str: ...


@_shared
class Plain(Protocol[T], Generic[T]):
    pass


def places(_hidden: int) -> object:
    kept: int = _shared
    kept.at: int = _shared
    found = {_shared: kept for _ in ()}, [_shared for _ in ()], [_shared for _shared in ()], Odd
    return found, lambda *, one, two=_shared: (one, two, _hidden)


def count(words: list[str]) -> Counter[str]:  # noqa: X1
    return Counter[str](word for word in words if word != _shared)


def _hidden() -> int: return _SMALL + LARGE
'''
USING = '''\
"""Uses the others."""

from __future__ import annotations

import os.path
import xml.dom as tree
from shutil import copy
from typing import TYPE_CHECKING, cast

from merrow_runtime.made import words
from merrow_runtime.made.again import Given, dumps
from merrow_runtime.made.words import Box as Carton, count as _hidden

if TYPE_CHECKING:
    from nowhere import Never
else:
    LIMITS = (
        1,
    )

    def Never(first: int = 1,
              second: int = 2) -> None:
        """Of no type."""

        return first

if os.path.sep:
    IGNORED = 1
else:
    IGNORED = 2

_shared = 7
_given = _other = Given


@property
def é(self: object) -> int:
    """Not ASCII."""
    return self.x


def around(_hidden: int, words: str = "") -> object:
    def deep() -> object:
        return _hidden, words.NAMES, copy.__name__, IGNORED
    return deep, lambda *_hidden, **_shared: (_hidden, _shared), lambda *, _hidden=1: _hidden


async def start(first: int, /, second: str = str(_shared), *, third: Carton[int] = Carton()) -> None:
    """Begins.

    Over lines.
    """
    from merrow_runtime.made.words import Three
    from shutil import copy as shown
    import sys

    _local = [_shared for _shared in words.NAMES if _shared and _hidden]
    made = {name: words.LARGE for name in words.NAMES for _ in (name, words._SMALL) if _local}
    text = f"{_shared!r:>{_local[0]}} {Never} {first}"
    other = cast("list[int]", _local)
    match other:
        case [one, *rest]:
            pass
    try:
        call = lambda _hidden, *a, b=_shared, **k: (_hidden, _shared, a, k)
    except ValueError as wrong:
        print(wrong)
    if (n := [m := 1 for _ in ()]):
        pass

    @tree.decorated
    def inner(_given: int) -> int:
        return _given

    async for made[0] in {one async for one in dumps(rest)}:
        words.Plain.kept = dict[str, int](a=first)
    print(shown, sys)
    return Three, f"{call} {_hidden([])}", é.fget, n, m, _given, _other, os.path.join(around, words.Last, words.places, LIMITS)
'''
AGAIN = """\
from pickle import dumps

from merrow_runtime.made import Given
"""
LAST = "class Taken:\n    pass\n"
PACKAGE = '"""A package."""\n\nfrom merrow_runtime.made.given import Given\n'
GIVEN = "from merrow_runtime.made.last import Taken\n\n\nclass Given(Taken):\n    pass\n"
CUT = '''\
import os
import re
import xml.dom
from collections import Counter
from json import dumps
from pickle import dumps as dumps_of_pickle
from shutil import copy
from typing import Protocol


class Taken_last:
    pass


class Given(Taken_last):
    pass


_SMALL, LARGE = 1, 2


NAMES = {"a": 1}


_shared_made = re.compile("x")


class Box:
    """A box."""

    kept: object
    known = 3
    default: object = field(default_factory=list)

    def of(self, one, *more, named = "x", **others):
        found = [one]
        pass
        self.kept = 3
        return found + list(more) + [dumps(found)] + self.of(one)


class Says(Protocol):
    def say(self): ...


class Both(Says, metaclass=type):
    pass


class Three(Says):
    known = 1

    def say(self, known = known):
        return str(known) + str(self.known)


class Last(Says):
    known = 1

    def say(self):
        return known


known = 2


class Odd(Says):
    kept: object = _shared_made
    _hidden = 1
    of: object = _hidden
    re = 4

    def say(self, *, one, two = _shared_made): ...


@_shared_made
class Plain:
    pass


def places(_hidden):
    kept = _shared_made
    kept.at = _shared_made
    found = {_shared_made: kept for _ in ()}, [_shared_made for _ in ()], [_shared for _shared in ()], Odd
    return found, lambda *, one, two=_shared_made: (one, two, _hidden)


def count(words):
    return Counter[str](word for word in words if word != _shared_made)


LIMITS = (
    1,
)


def Never(first = 1,
          second = 2):
    """Of no type."""

    return first


_shared = 7


_given = _other = Given


@property
def é(self):
    """Not ASCII."""
    return self.x


def around(_hidden, words = ""):
    def deep():
        return _hidden, words.NAMES, copy.__name__, IGNORED
    return deep, lambda *_hidden, **_shared: (_hidden, _shared), lambda *, _hidden=1: _hidden


async def start(first, /, second = str(_shared), *, third = Box()):
    """Begins.

    Over lines.
    """
    pass
    from shutil import copy as shown
    import sys

    _local = [_shared for _shared in NAMES if _shared and count]
    made = {name: LARGE for name in NAMES for _ in (name, _SMALL) if _local}
    text = f"{_shared!r:>{_local[0]}} {Never} {first}"
    other = (_local)
    match other:
        case [one, *rest]:
            pass
    try:
        call = lambda _hidden, *a, b=_shared, **k: (_hidden, _shared, a, k)
    except ValueError as wrong:
        print(wrong)
    if (n := [m := 1 for _ in ()]):
        pass

    @xml.dom.decorated
    def inner(_given):
        return _given

    async for made[0] in {one async for one in dumps_of_pickle(rest)}:
        Plain.kept = dict(a=first)
    print(shown, sys)
    return Three, f'{call} {count([])}', é.fget, n, m, _given, _other, os.path.join(around, Last, places, LIMITS)
'''


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes a module of a package of the runtime that is there for a test alone."""
    monkeypatch.setattr(merrow_runtime, "__path__", [*merrow_runtime.__path__, str(tmp_path)])

    def written(name: str, text: str) -> None:
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    yield written
    for name in [name for name in sys.modules if name.startswith("merrow_runtime.made")]:
        del sys.modules[name]


def test_a_name_is_cut_out_with_all_that_it_reaches(write: Write) -> None:
    for name, text in (
        ("__init__", PACKAGE),
        ("words", WORDS),
        ("using", USING),
        ("again", AGAIN),
        ("given", GIVEN),
        ("last", LAST),
    ):
        write(f"made/{name}", text)
    made = "merrow_runtime.made"
    text = cut_out([(f"{made}.using", "start"), (f"{made}.words", "Both")], ["Taken", "_shared_words"])
    assert text == CUT


def test_what_stands_in_for_something_is_cut_out_in_its_place(write: Write) -> None:
    write("made_too/__init__", "def given(): return own()\n\n\ndef own(): return other\n\n\nother = 1\n")
    write("made_too/stand_ins", "from merrow_runtime.made_too import given as asked\n\n\ndef own(): return asked\n")
    here = "merrow_runtime.made_too"
    instead = {(here, "own"): (f"{here}.stand_ins", "own")}
    assert cut_out([(here, "own")]) == "\n\n\ndef own(): return other\n\n\nother = 1\n"
    assert cut_out([(here, "given")], (), instead) == ("\n\n\ndef own(): return given\n\n\ndef given(): return own()\n")


def test_a_name_that_all_others_have_gets_a_mark(write: Write) -> None:
    write("made_also/__init__", "")
    write("made_also/one", "import os\n\n\ndef main(): return own, os\n\n\nown = 1\n")
    here = "merrow_runtime.made_also.one"
    taken = ["own", "own_one", "own_made_also", "own_merrow_runtime", "os"]
    assert cut_out([(here, "main")], taken) == (
        "import os as os_of_os\n\n\ndef main(): return own_merrow_runtime_, os_of_os\n\n\nown_merrow_runtime_ = 1\n"
    )


def test_what_can_not_be_told_apart_in_the_text_is_refused(write: Write) -> None:
    write("made_global", "def main():\n    global known\n    known = 1\n")
    with pytest.raises(NotImplementedError, match=r"^merrow_runtime.made_global: `global` in what is cut out, line 2$"):
        cut_out([("merrow_runtime.made_global", "main")])
