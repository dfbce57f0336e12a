"""What the filter of system calls decides, call by call: it is run here as the kernel runs it, for each architecture.

The numbers of arguments are those of the kernel's headers; attacks that meet the filter in the kernel are in `attacks`.
"""

from __future__ import annotations

import struct
from functools import cache

import pytest

from merrow_runtime.sandbox.guest.seccomp import program
from merrow_runtime.sandbox.guest.syscalls import ABSENT, ALLOWED, AUDIT_ARCHITECTURE, CONDITIONAL

MACHINES = ("x86_64", "aarch64")
PROCESS = 4321
ALLOW, KILL, EPERM, ENOSYS = "allow", "kill", "EPERM", "ENOSYS"
ACTIONS = {0x7FFF0000: ALLOW, 0x80000000: KILL, 0x00050001: EPERM, 0x00050026: ENOSYS}
HIGH = 1 << 32
"""The lowest bit of an argument's upper half, which the kernel doesn't look at where the argument is an `int`."""
POINTER = 0x7FFD_0000_1000

READING, WRITING, BOTH, CREATE, TRUNCATE, WITHOUT_NAME = 0o0, 0o1, 0o2, 0o100, 0o1000, 0o20000000
HERE = 0xFFFF_FF9C
A_THREAD = 0x3D0F00
"""The flags with which the C library starts a thread."""
NAMESPACES = (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)


@cache
def instructions(machine: str, keep_files: bool) -> list[tuple[int, int, int, int]]:
    return list(struct.iter_unpack("<HBBI", program(machine, PROCESS, keep_files)))


def decided(machine: str, number: int, *arguments: int, keep_files: bool = False, architecture: int = 0) -> str:
    """What the kernel would do, by the rules of classic BPF (linux/filter.h)."""
    architecture = architecture or {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}[machine]
    padded = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack("<IIQ6Q", number, architecture, 0, *padded)
    steps = instructions(machine, keep_files)
    value = at = 0
    while True:
        code, if_so, if_not, constant = steps[at]
        at += 1
        assert code in (0x15, 0x35) or (if_so, if_not) == (0, 0), "only comparisons jump"
        if code == 0x06:
            return ACTIONS[constant]
        if code == 0x20:
            (value,) = struct.unpack_from("<I", data, constant)
        elif code == 0x54:
            value &= constant
        else:
            holds = {0x15: value == constant, 0x35: value >= constant}[code]
            at += if_so if holds else if_not


TRIED = {*range(40), *range(1020, 1040), *range(0x5400, 0x5460), PROCESS - 1, PROCESS, PROCESS + 1}
"""Values of an argument, around those that are allowed somewhere."""


def passing(machine: str, name: str, argument: int, keep_files: bool = False) -> set[int]:
    """The values of one argument with which a call is allowed, the others 0."""
    number, before = CONDITIONAL[machine][name], [0] * argument
    return {value for value in TRIED if decided(machine, number, *before, value, keep_files=keep_files) == ALLOW}


@pytest.mark.parametrize("machine", MACHINES)
def test_each_call_is_allowed_refused_or_said_to_be_absent(machine: str) -> None:
    expected = dict.fromkeys(ABSENT[machine].values(), ENOSYS) | dict.fromkeys(ALLOWED[machine].values(), ALLOW)
    conditional = set(CONDITIONAL[machine].values())
    all_bits = [2**64 - 1] * 6
    for number in set(range(480)) - conditional:
        found = {decided(machine, number, *arguments) for arguments in ([], all_bits)}
        assert found == {expected.get(number, EPERM)}, number
    # What is decided by the arguments of these is below.
    assert len(conditional) == {"x86_64": 16, "aarch64": 13}[machine]


@pytest.mark.parametrize("machine", MACHINES)
def test_a_call_by_the_convention_of_another_architecture_ends_the_process(machine: str) -> None:
    own = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}[machine]
    assert AUDIT_ARCHITECTURE[machine] == own
    for architecture in (own ^ 1, 0x40000003, 0xC000003E + 0xC00000B7 - own):
        assert decided(machine, ALLOWED[machine]["read"], architecture=architecture) == KILL
    # From this bit on numbers are of x32, which x86_64 alone knows.
    x32 = KILL if machine == "x86_64" else EPERM
    numbers = (0x3FFFFFFF, 0x40000000, 0x40000000 + 39, 0xFFFFFFFF)
    assert [decided(machine, number) for number in numbers] == [EPERM, x32, x32, x32]


@pytest.mark.parametrize(("machine", "name"), [("x86_64", "open"), ("x86_64", "openat"), ("aarch64", "openat")])
def test_a_file_is_not_truncated_by_opening_it_to_read(machine: str, name: str) -> None:
    before = [POINTER] if name == "open" else [HERE, POINTER]
    for flags, without_removal, kept in (
        (READING, ALLOW, ALLOW),
        (READING | CREATE, ALLOW, ALLOW),
        (READING | HIGH, ALLOW, ALLOW),
        (WRITING | CREATE | TRUNCATE, ALLOW, ALLOW),
        (BOTH | TRUNCATE, ALLOW, ALLOW),
        (READING | TRUNCATE, EPERM, EPERM),
        (READING | TRUNCATE | CREATE | HIGH, EPERM, EPERM),
        (BOTH | WITHOUT_NAME, ALLOW, EPERM),
        (WRITING | WITHOUT_NAME | TRUNCATE, ALLOW, EPERM),
    ):
        number = CONDITIONAL[machine][name]
        # The mode comes after the flags and says nothing.
        found = [decided(machine, number, *before, flags, TRUNCATE, keep_files=keep) for keep in (False, True)]
        assert found == [without_removal, kept], oct(flags)


@pytest.mark.parametrize("machine", MACHINES)
def test_files_keep_a_name_where_they_are_counted_by_it(machine: str) -> None:
    for name in ("unlink", "unlinkat", "rename", "renameat"):
        if name in CONDITIONAL[machine]:
            number = CONDITIONAL[machine][name]
            found = [decided(machine, number, POINTER, POINTER, keep_files=keep) for keep in (False, True)]
            assert found == [ALLOW, EPERM], name
    # 1: not over another file. 2: one in the place of the other. 4 would leave a device behind.
    assert passing(machine, "renameat2", 4) == {0, 1, 2}
    assert passing(machine, "renameat2", 4, keep_files=True) == {1}


@pytest.mark.parametrize("machine", MACHINES)
def test_threads_are_started_but_no_process_and_no_namespace(machine: str) -> None:
    number = CONDITIONAL[machine]["clone"]
    assert decided(machine, number, A_THREAD) == ALLOW
    # The lowest seven bits name the signal at its end, which a thread has not.
    assert decided(machine, number, A_THREAD | 0x7F | HIGH) == ALLOW
    for flags in (0, 17, 0x4111, A_THREAD & ~0x10000, *NAMESPACES, *(A_THREAD | one for one in NAMESPACES)):
        assert decided(machine, number, flags) == EPERM, hex(flags)


@pytest.mark.parametrize("machine", MACHINES)
def test_signals_go_to_the_process_itself_alone(machine: str) -> None:
    for name in ("kill", "tgkill"):
        assert passing(machine, name, 0) == {PROCESS}
        assert decided(machine, CONDITIONAL[machine][name], 2**32 - 1, 9) == EPERM
        assert decided(machine, CONDITIONAL[machine][name], 0, PROCESS) == EPERM


@pytest.mark.parametrize("machine", MACHINES)
def test_devices_descriptors_and_the_process_are_told_harmless_things_alone(machine: str) -> None:
    # TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX; not TIOCSTI, which types for the user.
    assert passing(machine, "ioctl", 1) == {0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451}
    # Not F_SETOWN, F_SETSIG, F_SETLEASE, F_SETPIPE_SZ, F_ADD_SEALS.
    assert passing(machine, "fcntl", 1) == {*range(8), 1030, 1032}
    # PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_SET_VMA.
    assert passing(machine, "prctl", 0) == {3, 15, 16}
    number = CONDITIONAL[machine]["prctl"]
    found = [decided(machine, number, 0x53564D41 + by) for by in (-1, 0, 1)]
    assert found == [EPERM, ALLOW, EPERM]


@pytest.mark.parametrize("machine", MACHINES)
def test_limits_are_read_but_neither_set_nor_those_of_another(machine: str) -> None:
    number = CONDITIONAL[machine]["prlimit64"]
    for process, new, action in (
        (0, 0, ALLOW),
        (PROCESS, 0, ALLOW),
        (1, 0, EPERM),
        (PROCESS + 1, 0, EPERM),
        (0, POINTER, EPERM),
        (PROCESS, POINTER, EPERM),
        (0, 1, EPERM),
        (0, HIGH, EPERM),
        (PROCESS, HIGH, EPERM),
        *((0, new, EPERM) for new in range(1, 500)),
    ):
        assert decided(machine, number, process, 7, new, POINTER) == action, (process, new)


@pytest.mark.parametrize("machine", MACHINES)
def test_sockets_are_pairs_of_streams_and_send_to_their_other_end(machine: str) -> None:
    unix, internet, stream, packets, flags = 1, 2, 1, 5, 0o2004000
    for family, kind, action in (
        (unix, stream, ALLOW),
        (unix, stream | flags, ALLOW),
        (unix, 2, EPERM),
        (unix, 3 | flags, EPERM),
        (unix, packets, EPERM),
        (unix, 0, EPERM),
        (internet, stream, EPERM),
        (0, stream, EPERM),
    ):
        assert decided(machine, CONDITIONAL[machine]["socketpair"], family, kind) == action, (family, kind)
    sending = CONDITIONAL[machine]["sendto"]
    assert decided(machine, sending, 3, POINTER, 5, 0, 0, 16) == ALLOW
    # No address is taken for the number of a call.
    for address in (*range(1, 500), HIGH, POINTER):
        assert decided(machine, sending, 3, POINTER, 5, 0, address, 16) == EPERM


def test_a_machine_whose_calls_are_not_known_has_no_filter() -> None:
    with pytest.raises(KeyError):
        program("riscv64", PROCESS, keep_files=False)
