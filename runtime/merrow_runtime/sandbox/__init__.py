"""Generated Python code, run where it can do no harm.

`Sandbox.evaluate` runs code and gives back what a function of it returned; `Sandbox.test` runs tests against a solution, in
another process than the solution's. See docs/sandbox.md for what holds and what does not.
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
