"""Plain data as strict tagged JSON: what may travel between a solution and the tests that judge it.

Only exact built-in values come out of `decode`: nothing that a solution returns brings a method of its own along. A subclass
(a named tuple, a Counter, an IntEnum) travels as the plain value it extends. What is no data is left to `extend`, which may give
it a number.
"""

from __future__ import annotations

import builtins
import datetime
import decimal
import fractions
import numbers
from collections.abc import Callable
from typing import Any

#: Data nested deeper does not travel.
MAX_DEPTH = 200
_EXACT_JSON_INTEGER = 2**53

Extend = Callable[[Any, int], Any]

_SCALARS: tuple[Any, ...] = (str, int, float, complex, bytes)
_TYPES = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and not issubclass(kind, BaseException)
}
_NAMES = {kind: name for name, kind in _TYPES.items()}
# Functions that a test may hand to a solution by name; those that open or execute something aren't among them.
_FUNCTION_NAMES = "abs all any bin chr divmod hash hex len max min oct ord pow repr round sorted sum"
_FUNCTIONS = {name: getattr(builtins, name) for name in _FUNCTION_NAMES.split()}


def _refuse(value: Any, _depth: int) -> Any:
    raise TypeError(f"a value of type {type(value).__name__} is not plain data")


def encode(value: Any, extend: Extend = _refuse, depth: int = 0) -> Any:
    """A value as JSON.

    Raises:
        TypeError: for what is not plain data, unless `extend` takes it.
        ValueError: for data nested deeper than `MAX_DEPTH`.
    """
    if depth > MAX_DEPTH:
        raise ValueError(f"the data is nested deeper than {MAX_DEPTH}")
    if value is None or value is True or value is False:
        return value
    kind = type(value)
    if kind is str:
        return value
    if kind is int:
        return value if -_EXACT_JSON_INTEGER < value < _EXACT_JSON_INTEGER else ["int", hex(value)]
    if kind is float:
        return value if value - value == 0 else ["float", repr(value)]  # inf and nan are not JSON
    deeper = depth + 1
    if kind in (list, tuple, set, frozenset):
        return [kind.__name__, *(encode(item, extend, deeper) for item in value)]
    if kind is dict:
        return ["dict", *([encode(key, extend, deeper), encode(item, extend, deeper)] for key, item in value.items())]
    for test, encoder in _FURTHER:
        if isinstance(value, test):
            return encoder(value)
    if isinstance(value, type) and value in _NAMES:
        return ["type", _NAMES[value]]
    plain = _as_plain(value)
    return encode(plain, extend, depth) if plain is not value else extend(value, depth)


def _as_plain(value: Any) -> Any:
    """The plain value that a subclass or a number of a library stands for; the value itself where there is none."""
    for kind in _SCALARS:
        if isinstance(value, kind):
            return kind.__new__(kind, value)
    if isinstance(value, bytearray):
        return bytearray(value)
    for container in (list, tuple, set, frozenset):
        if isinstance(value, container):
            return container(value)
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if type(value).__module__.partition(".")[0] == "numpy":
        return value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, numbers.Rational):
        return fractions.Fraction(int(value.numerator), int(value.denominator))
    return value


_FURTHER: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (bytes, lambda v: ["bytes", v.hex()]),
    (bytearray, lambda v: ["bytearray", v.hex()]),
    (complex, lambda v: ["complex", repr(v.real), repr(v.imag)]),
    (range, lambda v: ["range", hex(v.start), hex(v.stop), hex(v.step)]),
    (decimal.Decimal, lambda v: ["decimal", str(v)]),
    (fractions.Fraction, lambda v: ["fraction", hex(v.numerator), hex(v.denominator)]),
    (datetime.datetime, lambda v: ["datetime", v.isoformat()]),
    (datetime.date, lambda v: ["date", v.isoformat()]),
    (datetime.time, lambda v: ["time", v.isoformat()]),
    (datetime.timedelta, lambda v: ["timedelta", v.days, v.seconds, v.microseconds]),
    (type(Ellipsis), lambda _: ["ellipsis"]),
)

_SIMPLE: dict[str, Callable[..., Any]] = {
    "int": lambda text: int(text, 16),
    "float": float,
    "bytes": bytes.fromhex,
    "bytearray": bytearray.fromhex,
    "complex": lambda real, imaginary: complex(float(real), float(imaginary)),
    "range": lambda start, stop, step: range(int(start, 16), int(stop, 16), int(step, 16)),
    "decimal": decimal.Decimal,
    "fraction": lambda above, below: fractions.Fraction(int(above, 16), int(below, 16)),
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "timedelta": lambda days, seconds, micro: datetime.timedelta(int(days), int(seconds), int(micro)),
    "ellipsis": lambda: Ellipsis,
    "type": lambda name: _TYPES[name],
    "function": lambda name: _FUNCTIONS[name],
}
_CONTAINERS: dict[str, Callable[[Any], Any]] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


def function_name(value: Any) -> str | None:
    """The name under which a built-in function may travel to a solution."""
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) and _FUNCTIONS.get(name) is value else None


def _refuse_tag(tag: str, _items: list[Any]) -> Any:
    raise ValueError(f"unknown kind of value {tag!r}")


def decode(data: Any, extend: Callable[[str, list[Any]], Any] = _refuse_tag) -> Any:
    """The value that `encode` wrote; unknown tags go to `extend`.

    Raises:
        ValueError, TypeError, KeyError, ArithmeticError: for anything that `encode` does not write.
    """
    if data is None or type(data) in (bool, int, float, str):
        return data
    if type(data) is not list or not data or type(data[0]) is not str:
        raise ValueError("the data is malformed")
    tag, items = data[0], data[1:]
    if tag in _CONTAINERS:
        return _CONTAINERS[tag](decode(item, extend) for item in items)
    if tag == "dict":
        return {decode(key, extend): decode(item, extend) for key, item in items}
    if tag in _SIMPLE:
        if not all(type(item) in (str, int) for item in items):
            raise ValueError("the data is malformed")
        return _SIMPLE[tag](*items)
    return extend(tag, items)
