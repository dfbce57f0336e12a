"""A container of Docker or Podman, the last choice: no network, nothing writable but a small folder in memory."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from pathlib import Path

from merrow_runtime.sandbox.backends.base import (
    BOOT,
    FOLDER,
    BackendStatus,
    GuestStart,
    Limits,
    environment,
    resource_limits,
)

#: Images are not pulled: one of these must be there. The first that is, is taken.
IMAGES = ("python:3.13-slim", "python:3.12-slim", "python:3.11-slim", "python:3-slim", "python:3")
_ENGINES = ("docker", "podman")


def _ask(command: list[str]) -> tuple[bool, str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, type(error).__name__
    return done.returncode == 0, (done.stderr or done.stdout).strip()


class Container:
    name = "container"

    def __init__(self) -> None:
        self._engine = ""
        self._image = ""

    def status(self) -> BackendStatus:
        holds = (
            "files",
            "network",
            "processes",
            "signals",
            "environment",
            "memory",
            "processor time",
            "output",
            "threads",
        )
        reasons: list[str] = []
        for engine in _ENGINES:
            program = shutil.which(engine)
            if program is None:
                reasons.append(f"{engine} is not installed")
                continue
            answers, _ = _ask(
                [program, "version", "--format", "{{.Server.Version}}" if engine == "docker" else "{{.Client.Version}}"]
            )
            if not answers:
                reasons.append(f"{engine} does not answer")
                continue
            for image in IMAGES:
                present, _ = _ask([program, "image", "inspect", image])
                if present:
                    self._engine, self._image = program, image
                    return BackendStatus(self.name, True, f"{engine} with the image {image}", holds)
            reasons.append(f"{engine} has no Python image: run `{engine} pull {IMAGES[0]}`")
        return BackendStatus(self.name, False, "; ".join(reasons), holds)

    def start(self, folder: Path, limits: Limits) -> GuestStart:  # noqa: ARG002 - the guest has a folder of its own
        if not self._engine and not self.status().usable:
            raise OSError("the container engine does not answer")
        name = f"merrow-{secrets.token_hex(8)}"
        command = [
            self._engine,
            "run",
            "--rm",
            "--interactive",
            "--init",
            "--name",
            name,
            "--pull",
            "never",
            "--network",
            "none",
        ]
        command += [
            "--read-only",
            "--tmpfs",
            f"{FOLDER}:rw,noexec,nosuid,nodev,mode=1777,size={limits.folder_mb}m",
            "--workdir",
            FOLDER,
        ]
        command += [
            "--memory",
            f"{limits.memory_mb}m",
            "--memory-swap",
            f"{limits.memory_mb}m",
            "--pids-limit",
            str(limits.threads + 2),
        ]
        command += [
            "--cpus",
            "1",
            "--user",
            "65534:65534",
            "--cap-drop",
            "ALL",
            "--security-opt",
            "no-new-privileges",
            "--log-driver",
            "none",
        ]
        for key, value in environment(FOLDER).items():
            command += ["--env", f"{key}={value}"]
        command += [self._image, "python", "-s", "-P", "-B", "-c", BOOT]
        lock = {"limits": resource_limits(limits), "seccomp": True}
        # The engine's own client needs its settings; the guest's environment is what `--env` says.
        kept = {
            key: os.environ[key]
            for key in ("PATH", "HOME", "DOCKER_HOST", "DOCKER_CONTEXT", "XDG_RUNTIME_DIR")
            if key in os.environ
        }
        return GuestStart(command, kept, lock, as_source=True, end=lambda: [self._engine, "kill", name], watch=False)
