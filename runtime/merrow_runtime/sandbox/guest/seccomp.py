"""The seccomp filter: a BPF program, assembled here, that says which system calls the guest may make.

An allow-list: what it does not name fails with EPERM. Sources: seccomp(2), linux/filter.h, linux/seccomp.h.
"""

from __future__ import annotations

import struct

from merrow_runtime.sandbox.guest.syscalls import ABSENT, ALLOWED, AUDIT_ARCHITECTURE, CONDITIONAL

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS = 1, 38

# Offsets in struct seccomp_data; both architectures are little endian, so the low half of an argument comes first.
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16

_CLONE_THREAD = 0x00010000
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET, NEWTIME
_CLONE_NAMESPACES = (
    0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000 | 0x00000080
)
_O_ACCMODE, _O_TRUNC, _O_TMPFILE = 0o3, 0o1000, 0o20000000
# renameat2's RENAME_NOREPLACE and RENAME_EXCHANGE; RENAME_WHITEOUT would make a device node.
_NOREPLACE, _EXCHANGE = 1, 2
# TCGETS (isatty), TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
_IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
# F_DUPFD .. F_SETLKW and F_DUPFD_CLOEXEC, F_GETPIPE_SZ. F_SETOWN and F_SETSIG would let the guest have signals sent to others.
_FCNTLS = (0, 1, 2, 3, 4, 5, 6, 7, 1030, 1032)
# PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_SET_VMA (malloc names its areas)
_PRCTLS = (3, 15, 16, 0x53564D41)
_AF_UNIX, _SOCK_STREAM, _SOCK_TYPE_MASK = 1, 1, 0xF

_Instruction = tuple[int, int, int, int]


def _load(offset: int) -> _Instruction:
    return (_LOAD, 0, 0, offset)


def _load_argument(index: int, high: bool = False) -> _Instruction:
    return _load(_ARGUMENTS + 8 * index + (4 if high else 0))


def _equal(value: int, skip_if_not: int) -> _Instruction:
    return (_JUMP_EQUAL, 0, skip_if_not, value)


def _skip_if_equal(value: int, skip: int) -> _Instruction:
    return (_JUMP_EQUAL, skip, 0, value)


def _give(action: int) -> _Instruction:
    return (_RETURN, 0, 0, action)


_REFUSE = _give(_ERRNO | _EPERM)
_PERMIT = _give(_ALLOW)


def _one_of(argument: int, values: tuple[int, ...], mask: int = 0xFFFFFFFF) -> list[_Instruction]:
    """Allow when the low 32 bits of an argument, under a mask, are one of some values (all arguments tested so are `int`)."""
    steps = [_load_argument(argument), (_AND, 0, 0, mask)]
    for value in values:
        steps += [_equal(value, 1), _PERMIT]
    return [*steps, _REFUSE]


def _null_pointer(argument: int) -> list[_Instruction]:
    """Allow when a pointer argument is NULL: both halves are looked at."""
    return [_load_argument(argument), _equal(0, 3), _load_argument(argument, high=True), _equal(0, 1), _PERMIT, _REFUSE]


def _opening(flags: int, keep_files: bool) -> list[_Instruction]:
    # Landlock before ABI 3 knows no right to truncate, and Linux truncates a file opened with O_RDONLY|O_TRUNC.
    steps = [_load_argument(flags), (_AND, 0, 0, _O_ACCMODE | _O_TRUNC), _equal(_O_TRUNC, 1), _REFUSE]
    if keep_files:  # O_TMPFILE makes a file without a name
        steps += [_load_argument(flags), (_AND, 0, 0, _O_TMPFILE), _equal(_O_TMPFILE, 1), _REFUSE]
    return [*steps, _PERMIT]


def _own_limits(process: int) -> list[_Instruction]:
    """Limits may be read, not changed, and only the process's own: those of another would say that it exists."""
    return [_load_argument(0), _skip_if_equal(0, 2), _skip_if_equal(process, 1), _REFUSE, *_null_pointer(2)]


def _stream_pair() -> list[_Instruction]:
    # asyncio's event loop wants a pair of connected sockets. A datagram socket could be sent anywhere, hence streams only.
    return [
        _load_argument(0),
        _equal(_AF_UNIX, 4),
        _load_argument(1),
        (_AND, 0, 0, _SOCK_TYPE_MASK),
        _equal(_SOCK_STREAM, 1),
        _PERMIT,
        _REFUSE,
    ]


def _conditions(process: int, keep_files: bool) -> dict[str, list[_Instruction]]:
    removing = [_REFUSE if keep_files else _PERMIT]
    return {
        "open": _opening(1, keep_files),
        "openat": _opening(2, keep_files),
        "unlink": removing,
        "unlinkat": removing,
        "rename": removing,
        "renameat": removing,
        "renameat2": _one_of(4, (_NOREPLACE,) if keep_files else (0, _NOREPLACE, _EXCHANGE)),
        "clone": _one_of(
            0, (_CLONE_THREAD,), _CLONE_THREAD | _CLONE_NAMESPACES
        ),  # threads, but no process and no namespace
        "kill": _one_of(0, (process,)),
        "tgkill": _one_of(0, (process,)),
        "ioctl": _one_of(1, _IOCTLS),
        "fcntl": _one_of(1, _FCNTLS),
        "prctl": _one_of(0, _PRCTLS),
        "prlimit64": _own_limits(process),
        "socketpair": _stream_pair(),
        "sendto": _null_pointer(4),
    }


def program(machine: str, process: int, keep_files: bool) -> bytes:
    """The filter for one process as an array of `struct sock_filter`.

    Args:
        machine: `x86_64` or `aarch64`.
        process: the guest's process id, the only one that it may send signals to.
        keep_files: refuse whatever takes a file's last name away: unlink, rename over another file, O_TMPFILE. A file without
            a name is held by a descriptor or a mapping, where nobody can count it.

    Raises:
        KeyError: for a machine whose system calls aren't known here.
    """
    steps: list[_Instruction] = [
        _load(_ARCHITECTURE),
        _skip_if_equal(AUDIT_ARCHITECTURE[machine], 1),
        _give(_KILL_PROCESS),
        _load(_NUMBER),
    ]
    if machine == "x86_64":  # the x32 calling convention shares the architecture number
        steps += [(_JUMP_AT_LEAST, 0, 1, 0x40000000), _give(_KILL_PROCESS)]
    for number in ALLOWED[machine].values():
        steps += [_equal(number, 1), _PERMIT]
    conditions = _conditions(process, keep_files)
    for name, number in CONDITIONAL[machine].items():
        body = conditions[name]
        steps += [_equal(number, len(body)), *body]
    for number in ABSENT[machine].values():
        steps += [_equal(number, 1), _give(_ERRNO | _ENOSYS)]
    steps.append(_REFUSE)
    return b"".join(struct.pack("<HBBI", *step) for step in steps)
