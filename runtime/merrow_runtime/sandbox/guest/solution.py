"""The solution's process: runs the solution, answers calls from the tests' process. It sees no test and gives no verdict."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from typing import Any

from merrow_runtime.sandbox.guest.channel import Channel, TooLongError
from merrow_runtime.sandbox.guest.running import module, report, sentence
from merrow_runtime.sandbox.guest.values import decode, encode

_FILE = "solution.py"
_BY_NUMBER = ("remote", "exception")


_KINDS: dict[str, Callable[[Any], bool]] = {
    "iterator": lambda value: isinstance(value, Iterator),
    "callable": callable,
    "coroutine": lambda value: isinstance(value, types.CoroutineType),
}


class CallbackError(Exception):
    """A function of the test that the solution called back raised."""


CallbackError.__module__ = "builtins"  # as tracebacks show it


class _Solution:
    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._objects: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._late_errors: dict[int, BaseException] = {}
        self._operations: dict[str, Callable[..., Any]] = {
            "call": lambda target, *arguments, **named: target(*arguments, **named),
            "getattr": getattr,
            "setattr": setattr,
            "len": len,
            "getitem": lambda target, key: target[key],
            "setitem": lambda target, key, value: target.__setitem__(key, value),
            "delitem": lambda target, key: target.__delitem__(key),
            "iter": iter,
            "str": str,
            "repr": repr,
            "bool": bool,
            "next": self._next,
            "await": _awaited,
            "fields": self._fields,
        }

    # What is not plain data gets a number; the tests' process holds a stand-in with that number.

    def _extend(self, value: Any, _depth: int) -> Any:
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self._objects)
            self._objects.append(value)  # kept alive, so that its identity is never another's
        kind = next((kind for kind, test in _KINDS.items() if test(value)), "object")
        named = value if isinstance(value, type | types.FunctionType) else type(value)
        return ["remote", number, kind, str(named.__name__)]

    def encode(self, value: Any) -> Any:
        return encode(value, self._extend)

    def decode(self, data: Any) -> Any:
        def extend(tag: str, items: list[Any]) -> Any:
            if tag == "remote":
                return self._objects[items[0]]
            if tag == "callback":
                return self._callback(items[0])
            if tag == "iterator":
                return iter([self.decode(item) for item in items])
            raise ValueError(f"unknown kind of value {tag!r}")

        return decode(data, extend)

    def _callback(self, number: int) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            request = {
                "id": number,
                "args": [self.encode(a) for a in arguments],
                "kwargs": {k: self.encode(v) for k, v in named.items()},
            }
            self._channel.send(b"b", request)
            while True:
                kind, message = self._channel.receive()
                if kind == b"c":
                    self.answer(message)
                    continue
                if "raise" in message:
                    raise CallbackError(message["raise"])
                return self.decode(message["value"])

        return call

    def _next(self, target: Iterator[Any], count: int) -> dict[str, Any]:
        """Up to `count` further items: many small messages would make a long generator slow."""
        late = self._late_errors.pop(id(target), None)
        if late is not None:
            raise late
        items: list[Any] = []
        while len(items) < count:
            try:
                items.append(next(target))
            except StopIteration:
                return {"items": items, "end": True}
            except BaseException as error:
                if not items:
                    raise
                self._late_errors[id(target)] = error
                break
        return {"items": items, "end": False}

    def _fields(self, target: Any) -> dict[str, Any]:
        """The data of an object, for comparison by the tests' process; never by a method of the solution."""
        fields = dict(getattr(target, "__dict__", {}))
        for kind in type(target).__mro__:
            slots = kind.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if hasattr(target, name):
                    fields[name] = getattr(target, name)
        return {
            "class": type(target).__qualname__,
            "by_value": any("__eq__" in kind.__dict__ for kind in type(target).__mro__[:-1]),
            "fields": fields,
        }

    def answer(self, request: dict[str, Any]) -> None:
        try:
            arguments = [self.decode(item) for item in request["args"]]
            named = {key: self.decode(item) for key, item in request["kwargs"].items()}
            value = self._operations[request["op"]](self._objects[request["on"]], *arguments, **named)
            reply: dict[str, Any] = {"value": self.encode(value)}
            if request["op"] == "call":
                after = [
                    self.encode(item) if isinstance(item, list | dict | set | bytearray) else None for item in arguments
                ]
                changed = {
                    str(i): item for i, item in enumerate(after) if item is not None and item != request["args"][i]
                }
                if changed:
                    reply["changed"] = changed
        except BaseException as error:  # noqa: BLE001 - whatever the solution raises travels
            reply = {"raise": self._raised(error)}
        try:
            self._channel.send(b"r", reply)
        except (ValueError, MemoryError) as error:
            self._channel.send(b"r", {"raise": self._raised(error)})

    def _raised(self, error: BaseException) -> dict[str, Any]:
        try:
            arguments = encode(list(error.args))
        except BaseException:  # noqa: BLE001
            arguments = ["list", sentence(error)]
        return {"mro": [kind.__name__ for kind in type(error).__mro__], "args": arguments, **report(error, (_FILE,))}

    def names(self, namespace: dict[str, Any], entry: str) -> dict[str, Any]:
        """What the solution defines at top level: data as data, all else by number.

        The function under test always goes by number. If it went as data (`f = int`), no call of it would reach this process.
        """
        names: dict[str, Any] = {}
        for name, value in list(namespace.items()):
            if not isinstance(name, str) or name.startswith("__") or isinstance(value, types.ModuleType):
                continue
            with contextlib.suppress(Exception):  # data that can't travel (nested without end, say) has no stand-in
                if name == entry and callable(value):
                    names[name] = self._extend(value, 0)
                elif isinstance(value, type) and issubclass(value, Exception):
                    names[name] = ["exception", *(kind.__name__ for kind in value.__mro__)]
                else:
                    names[name] = self.encode(value)
        return names


def _awaited(target: types.CoroutineType[Any, Any, Any]) -> Any:
    import asyncio  # most solutions are not asynchronous, and their process should start fast

    return asyncio.run(target)


def serve(channel: Channel, job: dict[str, Any]) -> None:
    """Run the solution, send `l` with its names (or the error), answer calls until the host ends the process."""
    solution = _Solution(channel)
    try:
        made, code = module("solution", _FILE, job["code"])
        exec(code, made.__dict__)  # noqa: S102 - what this process is for
        names = solution.names(made.__dict__, job["entry"])
        try:
            channel.send(b"l", names)
        except (TooLongError, MemoryError):  # a large table, say: its name is given up, the functions stay
            stand_ins = {name: data for name, data in names.items() if type(data) is list and data[0] in _BY_NUMBER}
            channel.send(b"l", stand_ins)
    except BaseException as error:  # noqa: BLE001
        channel.send(b"f", report(error, (_FILE,)))
    while True:
        _, request = channel.receive()
        solution.answer(request)
