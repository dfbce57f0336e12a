"""What the sandbox asks of Landlock in each of its versions: the kernel of a test has only one."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from merrow_runtime.sandbox.guest import lock

# The kernel's documentation: what each version can be asked for.
FILES_SINCE = {13: 2, 14: 3, 15: 5}
TCP_SINCE, SCOPES_SINCE = 4, 6


class Kernel:
    """Takes the calls that Landlock is asked with."""

    def __init__(self) -> None:
        self.ruleset = (b"", 0)
        self.rules: dict[str, int] = {}
        self.restricted = False

    def syscall(self, number: int, *arguments: object) -> int:
        if number == lock._CREATE_RULESET:
            attributes, size, _ = arguments
            self.ruleset = (bytes(attributes), size.value)  # type: ignore[call-overload, attr-defined]
            return os.open(os.devnull, os.O_RDONLY)
        if number == lock._ADD_RULE:
            rights, folder = struct.unpack("<Qi", bytes(arguments[2]))  # type: ignore[call-overload]
            self.rules[str(Path(f"/proc/self/fd/{folder}").readlink())] = rights
            return 0
        assert number == lock._RESTRICT_SELF
        self.restricted = True
        return 0


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="Landlock is of Linux")
@pytest.mark.parametrize("version", range(1, 9))
def test_all_that_a_version_can_hold_back_is_held_back(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = Kernel()
    monkeypatch.setattr(lock, "_library", lambda: kernel)
    monkeypatch.setattr(lock, "landlock_version", lambda: version)
    (tmp_path / "file").touch()
    (tmp_path / "names").mkdir()
    (tmp_path / "work").mkdir()
    lock.landlock([f"{tmp_path}/file", f"{tmp_path}/absent"], [f"{tmp_path}/names"], [f"{tmp_path}/work"])
    attributes, size = kernel.ruleset
    files, tcp, scopes = struct.unpack("<QQQ", attributes)
    assert files == (1 << 13) - 1 + sum(1 << bit for bit, since in FILES_SINCE.items() if version >= since)
    assert tcp == (0b11 if version >= TCP_SINCE else 0)
    assert scopes == (0b11 if version >= SCOPES_SINCE else 0)
    assert size == (24 if version >= SCOPES_SINCE else 16 if version >= TCP_SINCE else 8)
    execute, write, read, names, make = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 8
    assert kernel.rules[f"{tmp_path}/file"] == read
    assert kernel.rules[f"{tmp_path}/names"] == names
    remove, move, truncate = 1 << 5, 1 << 13, 1 << 14
    assert kernel.rules[f"{tmp_path}/work"] == (read | write | names | make | remove | move | truncate) & files
    assert kernel.rules[os.devnull] == read | write
    assert set(kernel.rules) == {f"{tmp_path}/{name}" for name in ("file", "names", "work")} | {os.devnull}
    # Nothing may be executed, no folder, link, pipe, socket or device made, and no right be given that is not handled.
    made = sum(1 << bit for bit in (6, 7, 9, 10, 11, 12))
    for rights in kernel.rules.values():
        assert rights & (execute | made | ~files) == 0
    assert kernel.restricted


def test_without_landlock_nothing_is_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "landlock_version", lambda: 0)
    with pytest.raises(OSError, match="not available"):
        lock.landlock([], [], [])


def test_what_the_kernel_says_of_landlock_is_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []

    class Says:
        def __init__(self, answer: int) -> None:
            self._answer = answer

        def syscall(self, *arguments: object) -> int:
            asked.append(tuple(getattr(one, "value", one) for one in arguments))
            return self._answer

    monkeypatch.setattr("sys.platform", "linux")
    for answer, version in ((7, 7), (1, 1), (0, 0), (-1, 0)):
        monkeypatch.setattr(lock, "_library", lambda answer=answer: Says(answer))
        assert lock.landlock_version() == version
    # No attributes of no length, and the flag that asks for the version.
    assert asked == [(444, None, 0, 1)] * 4
    monkeypatch.setattr("sys.platform", "darwin")
    assert lock.landlock_version() == 0
    assert len(asked) == 4
