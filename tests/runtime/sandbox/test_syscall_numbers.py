"""The numbers of system calls that the sandbox allows are the kernel's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from merrow_runtime.sandbox.guest.syscalls import ABSENT, ALLOWED, CONDITIONAL

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
# asm-generic has these under the names of their 32-bit forms too.
RENAMED = {"newfstatat": "fstatat"}


def numbers_of(header: Path) -> dict[str, int]:
    found = re.findall(r"^#define __NR(?:3264)?_(\w+)\s+(\d+)\b", header.read_text("utf-8"), re.MULTILINE)
    return {name: int(number) for name, number in found}


@pytest.mark.parametrize("architecture", HEADERS)
def test_numbers_are_those_of_the_kernels_header(architecture: str) -> None:
    header = HEADERS[architecture]
    if not header.is_file():
        pytest.skip(f"{header} is not installed here")
    known = numbers_of(header)
    assert len(known) > 250
    named = [*ALLOWED[architecture].items(), *CONDITIONAL[architecture].items(), *ABSENT[architecture].items()]
    assert len(named) > 100
    wrong = {name: number for name, number in named if number != known.get(name, known.get(RENAMED.get(name, "")))}
    assert wrong == {}


@pytest.mark.parametrize("architecture", HEADERS)
def test_each_number_is_named_once(architecture: str) -> None:
    numbers = [*ALLOWED[architecture].values(), *CONDITIONAL[architecture].values(), *ABSENT[architecture].values()]
    assert len(numbers) == len(set(numbers))
