"""Stand-ins, in the tests' process, for what lives in the solution's process.

A stand-in passes on calls, attributes, indexing and iteration. It does not pass on comparisons and arithmetic: `==` compares the
data of both sides here, all else is a TypeError, so that no operator of the solution can say what a test wants to hear.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Coroutine, Generator, Iterator
from typing import Any

from merrow_runtime.sandbox.guest.channel import Channel
from merrow_runtime.sandbox.guest.running import cut, report
from merrow_runtime.sandbox.guest.values import decode, encode, function_name

_SHOWN = 400
_MAX_BATCH = 1024


class SolutionDiedError(Exception):
    """The solution's process ended during a call."""


SolutionDiedError.__module__ = "builtins"  # as tracebacks show it


class SolutionCalls:
    """Calls from the tests to the solution, one at a time, with calls back in between."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._callbacks: list[Any] = []
        self._exceptions: dict[str, type[Exception]] = {}
        self.last_call = ""
        self.remote_traceback = ""

    def new_test(self) -> None:
        """Forget what belonged to the test before."""
        self._callbacks.clear()
        self._exceptions.clear()
        self.last_call = self.remote_traceback = ""

    def _extend(self, value: Any, _depth: int) -> Any:
        if isinstance(value, Remote):
            return ["remote", object.__getattribute__(value, "_remote_number")]
        name = function_name(value)
        if name is not None:
            return ["function", name]
        if callable(value):
            self._callbacks.append(value)
            return ["callback", len(self._callbacks) - 1]
        if isinstance(value, Iterator):
            return ["iterator", *(self.encode(item) for item in value)]
        raise TypeError(f"a value of type {type(value).__name__} can't be passed to the solution")

    def encode(self, value: Any) -> Any:
        return encode(value, self._extend)

    def decode(self, data: Any) -> Any:
        return decode(data, self._stand_in)

    def _stand_in(self, tag: str, items: list[Any]) -> Any:
        if tag == "callback" and type(items[0]) is int and 0 <= items[0] < len(self._callbacks):
            return self._callbacks[items[0]]
        if tag == "exception":
            return self.exception([str(name) for name in items])
        if tag != "remote" or len(items) != 3 or type(items[0]) is not int:
            raise ValueError("the solution's process answered with something unknown")
        number, kind, name = items
        return _STAND_INS.get(kind, Remote)(self, number, str(name))

    def exception(self, names: list[str]) -> type[Exception]:
        """A class for an exception of the solution, by the names of its bases: the built-in itself, or one below it.

        StopIteration becomes RuntimeError, as in a generator (PEP 479): raised by a call, it would end the loop, the `zip` or the
        `all` that a test checks with, and the test would pass without having compared anything.
        """
        names = ["RuntimeError" if name in ("StopIteration", "StopAsyncIteration") else name for name in names]
        base: type[Exception] = Exception
        for name in names:
            known = getattr(builtins, name, None)
            if isinstance(known, type) and issubclass(known, Exception):
                base = known
                break
            if isinstance(known, type) and issubclass(known, BaseException) and known is not BaseException:
                return RuntimeError  # SystemExit and its like end nothing here
        if not names or base.__name__ == names[0]:
            return base
        made = self._exceptions.get(names[0])
        if made is None:
            made = self._exceptions[names[0]] = type(names[0], (base,), {"__module__": "solution"})
        return made

    def request(
        self, operation: str, number: int, arguments: tuple[Any, ...] = (), named: dict[str, Any] | None = None
    ) -> Any:
        """One operation on one object of the solution; its result, or its exception raised here."""
        message = {
            "op": operation,
            "on": number,
            "args": [self.encode(item) for item in arguments],
            "kwargs": {key: self.encode(item) for key, item in (named or {}).items()},
        }
        self._channel.send(b"c", message)
        while True:
            kind, reply = self._channel.receive()
            if kind == b"d":
                raise SolutionDiedError(str(reply))
            if kind == b"b":
                self._answer(reply)
                continue
            if type(reply) is not dict:
                raise ValueError("the solution's process answered with something unknown")
            if "raise" in reply:
                raise self._raised(reply["raise"])
            for place, after in reply.get("changed", {}).items():
                _become(arguments[int(place)], self.decode(after))
            return self.decode(reply["value"])

    def _raised(self, raised: dict[str, Any]) -> Exception:
        self.remote_traceback = str(raised["traceback"])
        kind = self.exception([str(name) for name in raised["mro"]])
        try:
            arguments = self.decode(raised["args"])
            return kind(*arguments) if kind.__name__ == raised["mro"][0] else kind(str(raised["error"]))
        except Exception:  # noqa: BLE001 - some classes want other arguments than they show
            return RuntimeError(str(raised["error"]))

    def _answer(self, request: dict[str, Any]) -> None:
        try:
            function = self._callbacks[request["id"]]
            named = {str(key): self.decode(item) for key, item in request["kwargs"].items()}
            answer = {"value": self.encode(function(*(self.decode(item) for item in request["args"]), **named))}
        except Exception as error:  # noqa: BLE001 - the solution is told and goes on
            answer = {"raise": report(error, ())["error"]}
        self._channel.send(b"a", answer)


def _become(target: Any, after: Any) -> None:
    """Give a mutable argument the content that the solution left it with."""
    if type(target) is not type(after):
        return
    if isinstance(target, list | bytearray):
        target[:] = after
    elif isinstance(target, dict | set):
        target.clear()
        target.update(after)


class Remote:
    """An object of the solution."""

    def __init__(self, wire: SolutionCalls, number: int, name: str) -> None:
        for field, value in (("_remote_wire", wire), ("_remote_number", number), ("_remote_name", name)):
            object.__setattr__(self, field, value)

    def _remote(self, operation: str, *arguments: Any) -> Any:
        wire: SolutionCalls = object.__getattribute__(self, "_remote_wire")
        return wire.request(operation, object.__getattribute__(self, "_remote_number"), arguments)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._remote("getattr", name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._remote("setattr", name, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Remote):
            return NotImplemented
        if object.__getattribute__(self, "_remote_number") == object.__getattribute__(other, "_remote_number"):
            return True
        mine, theirs = self._remote("fields"), other._remote("fields")
        return mine["by_value"] is True and bool(mine == theirs)

    def __hash__(self) -> int:
        return hash(object.__getattribute__(self, "_remote_number"))

    def __bool__(self) -> bool:
        return self._remote("bool") is True

    def __str__(self) -> str:
        text = self._remote("str")
        return text if type(text) is str else "?"

    def __repr__(self) -> str:
        text = self._remote("repr")
        return text if type(text) is str else "?"

    def __len__(self) -> int:
        length = self._remote("len")
        if type(length) is not int:
            raise TypeError("the length is not a number")
        return length

    def __getitem__(self, key: Any) -> Any:
        return self._remote("getitem", key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._remote("setitem", key, value)

    def __delitem__(self, key: Any) -> None:
        self._remote("delitem", key)

    def __iter__(self) -> Iterator[Any]:
        iterator = self._remote("iter")
        if not isinstance(iterator, RemoteIterator):
            raise TypeError(f"{object.__getattribute__(self, '_remote_name')!r} object is not iterable")
        return iterator


class RemoteIterator(Remote):
    """An iterator or generator of the solution; items are fetched in batches that grow with what was used."""

    def __init__(self, wire: SolutionCalls, number: int, name: str) -> None:
        super().__init__(wire, number, name)
        for field, value in (("_remote_items", []), ("_remote_end", False), ("_remote_batch", 1)):
            object.__setattr__(self, field, value)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __bool__(self) -> bool:
        return True

    def __next__(self) -> Any:
        waiting: list[Any] = object.__getattribute__(self, "_remote_items")
        if not waiting and not object.__getattribute__(self, "_remote_end"):
            count: int = object.__getattribute__(self, "_remote_batch")
            answer = self._remote("next", count)
            waiting.extend(reversed(answer["items"]))
            object.__setattr__(self, "_remote_end", answer["end"])
            object.__setattr__(self, "_remote_batch", min(2 * count, _MAX_BATCH))
        if not waiting:
            raise StopIteration
        return waiting.pop()


class RemoteCoroutine(Remote, Coroutine[Any, Any, Any]):
    """A coroutine of the solution. It runs to its end in the solution's process, at the first step that is made here."""

    def send(self, _: Any) -> Any:
        raise StopIteration(self._remote("await"))

    def throw(self, *error: Any) -> Any:
        raise error[0]

    def close(self) -> None:
        pass

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._remote("await")
        yield  # makes this a generator

    def __bool__(self) -> bool:
        return True


class RemoteCallable(Remote):
    """A function, class or callable object of the solution."""

    def __bool__(self) -> bool:
        return True

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        wire: SolutionCalls = object.__getattribute__(self, "_remote_wire")
        name: str = object.__getattribute__(self, "_remote_name")
        call = (
            f"{name}({', '.join([*map(_shown, arguments), *(f'{key}={_shown(item)}' for key, item in named.items())])})"
        )
        try:
            result = wire.request("call", object.__getattribute__(self, "_remote_number"), arguments, named)
        except Exception as error:
            wire.last_call = cut(f"{call} raised {type(error).__name__}", _SHOWN)
            raise
        wire.last_call = cut(f"{call} returned {_shown(result)}", 2 * _SHOWN)
        return result

    def __instancecheck__(self, instance: object) -> bool:
        own = object.__getattribute__(self, "_remote_name")
        return isinstance(instance, Remote) and object.__getattribute__(instance, "_remote_name") == own


_STAND_INS: dict[str, type[Remote]] = {
    "callable": RemoteCallable,
    "iterator": RemoteIterator,
    "coroutine": RemoteCoroutine,
}


def _shown(value: Any) -> str:
    """A value for a message; an object of the solution is named, not asked."""
    if isinstance(value, Remote):
        return f"<{object.__getattribute__(value, '_remote_name')}>"
    shower: Callable[[Any], str] = repr
    try:
        return cut(shower(value), _SHOWN)
    except Exception:  # noqa: BLE001 - only a message
        return f"<{type(value).__name__}>"
