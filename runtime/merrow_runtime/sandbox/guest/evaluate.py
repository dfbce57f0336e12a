"""Run code, call one function of it, send what it returned."""

from __future__ import annotations

from merrow_runtime.sandbox.guest.channel import Channel, TooLongError, flush
from merrow_runtime.sandbox.guest.running import module, report

TYPE_CHECKING = False  # what is imported here, each process of the sandbox would take time for
if TYPE_CHECKING:
    from typing import Any

_FILE = "solution.py"


def evaluate(channel: Channel, job: dict[str, Any]) -> None:
    """Send one `v` frame: `{outcome, value}` or `{outcome, error, traceback}`.

    The value is `str()` of what `entry` returned for `arguments`; None where no entry was asked for.
    """
    entry = job["entry"]
    try:
        made, code = module("solution" if entry else "__main__", _FILE, job["code"])
        exec(code, made.__dict__)  # noqa: S102 - what this process is for
        answer: dict[str, Any] = {"outcome": "ok", "value": None}
        if entry:
            function = made.__dict__.get(entry)
            if function is None:
                flush()
                missing = f"NameError: the code defines no function named {entry!r}"
                channel.send(b"v", {"outcome": "error", "error": missing, "traceback": missing})
                return
            answer["value"] = str.__str__(str(function(*job["arguments"])))  # of a class derived from str, its text
    except SystemExit as leaving:
        if entry or leaving.code not in (None, 0):
            answer = report(leaving, (_FILE,))
            answer["error"] = f"SystemExit: the code ended the program with {leaving.code!r}"
        else:
            answer = {"outcome": "ok", "value": None}
    except BaseException as error:  # noqa: BLE001 - whatever generated code raises is a result
        answer = report(error, (_FILE,))
    flush()
    try:
        channel.send(b"v", answer)
    except TooLongError:
        channel.send(b"v", {"outcome": "output"})
    except MemoryError:
        channel.send(b"v", {"outcome": "memory", "error": "MemoryError"})
