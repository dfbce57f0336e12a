"""Runs generated Python code where it can do no harm.

`Sandbox.evaluate` runs code and returns the result of one of its functions; `Sandbox.test` runs tests against a solution, in a
separate process. See docs/sandbox.md for what is isolated and what is not.
"""

from __future__ import annotations

from merrow_runtime.sandbox.backends import available_backends
from merrow_runtime.sandbox.results import (
    BackendStatus,
    Limits,
    SandboxJob,
    SandboxRefusedError,
    SandboxResult,
    TestFailure,
    TestResult,
)
from merrow_runtime.sandbox.sandbox import Sandbox

__all__ = [
    "BackendStatus",
    "Limits",
    "Sandbox",
    "SandboxJob",
    "SandboxRefusedError",
    "SandboxResult",
    "TestFailure",
    "TestResult",
    "available_backends",
]
