"""The guest's life: take the job, lock the door, do the job, end."""

from __future__ import annotations

import os
import sys

from merrow_runtime.sandbox.guest.channel import Channel, redirect
from merrow_runtime.sandbox.guest.lock import lock
from merrow_runtime.sandbox.guest.removal import install


def main() -> None:
    """Run one job from standard input. The process ends here, without clean-up that generated code could take part in."""
    channel = Channel(sys.stdin.detach())  # type: ignore[union-attr]
    job = channel.receive_job()
    try:
        lock(job["lock"])
    except (OSError, KeyError, ValueError) as error:
        channel.send(b"x", f"{type(error).__name__}: {error}")
        os._exit(3)
    channel.send(b"k", None)
    if "removed" in job["lock"]:
        install(job["lock"]["removed"])
    redirect(channel, job.get("stdin", ""))
    sys.path.extend(job["libraries"])
    sys.argv = ["solution.py"]
    sys.dont_write_bytecode = True
    # Only the module of the work at hand was sent.
    if job["work"] != "evaluate":
        __import__("json")  # these send more than texts, and must not depend on what generated code leaves
    if job["work"] == "evaluate":
        from merrow_runtime.sandbox.guest.evaluate import evaluate as work
    elif job["work"] == "solution":
        from merrow_runtime.sandbox.guest.solution import serve as work
    else:
        from merrow_runtime.sandbox.guest.verdict import judge as work
    work(channel, job)
    os._exit(0)
