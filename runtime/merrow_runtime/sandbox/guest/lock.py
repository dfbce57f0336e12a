"""The guest locks itself in: resource limits, capabilities, Landlock, seccomp.

Called after the interpreter was started and before a line of generated code is read. Every step either holds or raises, and then
nothing is run. Sources: landlock(7), seccomp(2), capabilities(7), prctl(2).
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
import sys

from merrow_runtime.sandbox.guest.seccomp import program

TYPE_CHECKING = False  # what is imported here, each process of the sandbox would take time for
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 24, 38
_SECCOMP_MODE_FILTER = 2
_SIGKILL = 9
_CAP_DAC_READ_SEARCH, _LAST_CAPABILITY = 2, 63
_SYS_CAPSET = {"x86_64": 126, "aarch64": 91}
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_LANDLOCK_VERSION_FLAG, _RULE_PATH_BENEATH = 1, 1

_WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_FILE, _MAKE_REG = 1 << 1, 1 << 2, 1 << 3, 1 << 5, 1 << 8
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_FILE_RIGHTS = (1 << 0) | _WRITE_FILE | _READ_FILE | _TRUNCATE
_O_PATH, _O_CLOEXEC = 0o10000000, 0o2000000


def _library() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def landlock_version() -> int:
    """The kernel's Landlock ABI version, 0 where there is none."""
    if not sys.platform.startswith("linux"):
        return 0
    version = int(_library().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _LANDLOCK_VERSION_FLAG))
    return max(version, 0)


def limit(settings: dict[str, Any]) -> None:
    """Resource limits. Memory and files in bytes, processor time in seconds. What a system does not know is left out."""
    wanted = {
        "RLIMIT_AS": settings["memory"],
        "RLIMIT_FSIZE": settings["file"],
        "RLIMIT_NOFILE": settings["open_files"],
        "RLIMIT_CORE": 0,
        "RLIMIT_MEMLOCK": 0,
        "RLIMIT_MSGQUEUE": 0,
    }
    for name, value in wanted.items():
        if hasattr(resource, name):
            try:
                resource.setrlimit(getattr(resource, name), (value, value))
            except (ValueError, OSError):
                # macOS refuses RLIMIT_AS; there the host watches the memory. On Linux every limit must hold.
                if sys.platform.startswith("linux"):
                    raise
    seconds = settings["cpu"]
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def die_with(parent: int) -> None:
    """The kernel kills the guest when the thread that started it ends."""
    _checked(_library().prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:  # it ended before we asked
        os._exit(1)


def _prefer_as_victim() -> None:
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:  # noqa: PTH123
            score.write("1000")
    except OSError:
        pass  # a wish, not a wall: when memory runs out, the guest should go before the editor does


def drop_capabilities() -> None:
    """As root, keep none but that of reading: Landlock is narrower, and the interpreter may belong to somebody else."""
    library = _library()
    if os.geteuid() == 0:
        for capability in range(_LAST_CAPABILITY + 1):
            if library.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) < 0 and ctypes.get_errno() != 22:
                break  # EPERM: already without the capability to drop any
    kept = 1 << _CAP_DAC_READ_SEARCH if os.geteuid() == 0 else 0
    header = struct.pack("<Ii", 0x20080522, 0)
    number = _SYS_CAPSET[os.uname().machine]
    for wanted in (kept, 0):  # in a container that one may be gone already, and then it can't be kept
        data = struct.pack("<6I", wanted, wanted, 0, 0, 0, 0)
        if library.syscall(number, header, data) == 0:
            return
    _checked(-1, "capset")


def landlock(readable: Sequence[str], listable: Sequence[str], writable: Sequence[str]) -> None:
    """Files: nothing but what is named here. TCP, abstract sockets and signals to others as well, where the kernel can.

    Args:
        readable: files and folders (with all below them) that may be read.
        listable: folders whose names may be listed.
        writable: folders in which plain files may be made, written, removed and moved from one to another; folders, links, pipes,
            sockets and devices may not be made.
    """
    library = _library()
    version = landlock_version()
    if version < 1:
        raise OSError("Landlock is not available")
    handled = (1 << 13) - 1
    handled |= sum(1 << bit for bit, since in ((13, 2), (14, 3), (15, 5)) if version >= since)
    attributes = struct.pack("<QQQ", handled, 0b11 if version >= 4 else 0, 0b11 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _checked(
        library.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size), 0), "landlock_create_ruleset"
    )

    def allow(path: str, rights: int) -> None:
        try:
            folder = os.open(path, _O_PATH | _O_CLOEXEC)
        except OSError:
            return  # what isn't there needs no permission
        try:
            if not os.path.isdir(path):  # noqa: PTH112
                rights &= _FILE_RIGHTS
            rule = struct.pack("<Qi", rights & handled, folder)
            _checked(library.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0), "landlock_add_rule")
        finally:
            os.close(folder)

    for path in readable:
        allow(path, _READ_FILE | _READ_DIR)
    for path in listable:
        allow(path, _READ_DIR)
    for path in writable:
        allow(path, _READ_FILE | _READ_DIR | _WRITE_FILE | _REMOVE_FILE | _MAKE_REG | _REFER | _TRUNCATE)
    allow("/dev/null", _READ_FILE | _WRITE_FILE)
    _checked(library.syscall(_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")
    os.close(ruleset)


def filter_calls(keep_files: bool) -> None:
    """Only the system calls of `syscalls`, for this process and all threads it will have.

    Args:
        keep_files: see `seccomp.program`.
    """
    code = program(os.uname().machine, os.getpid(), keep_files)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    _checked(_library().prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, header, 0, 0), "prctl(PR_SET_SECCOMP)")


def lock(settings: dict[str, Any]) -> None:
    """Lock this process in as the host asks.

    Args:
        settings: `limits` always; `parent`, `landlock` and `seccomp` as the back end wants them; `removed`, a folder, where
            files must keep a name until the process ends (`removal`).

    Raises:
        OSError: when a step does not hold. Nothing may be run then.
    """
    os.umask(0o077)
    if sys.platform.startswith("linux"):
        if settings.get("parent"):
            die_with(settings["parent"])
        _prefer_as_victim()
        library = _library()
        _checked(library.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)")
        _checked(library.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl(PR_SET_DUMPABLE)")
        if settings.get("seccomp"):
            drop_capabilities()
    limit(settings["limits"])
    if settings.get("landlock"):
        landlock(**settings["landlock"])
    if settings.get("seccomp"):
        filter_calls(keep_files="removed" in settings)
