"""How to install the packages of one of Merrow's extras, for the Python that runs."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires


def how_to_install(extra: str) -> str:
    """What to do about a missing package of an extra, as the second half of a sentence without a period.

    The command names this Python and the packages themselves, since the name ``merrow`` may be anything in a package index.
    """
    if sys.flags.no_site:
        return (
            f"an editor's own server can't use it, an installed Merrow can: pip install '.[{extra}]' in a clone of it"
        )
    python = shlex.quote(sys.executable) if sys.executable else "python3"
    packages = [shlex.quote(package) for package in _packages(extra)]
    what = "them" if len(packages) > 1 else "it"
    return f"install {what} with: {python} -m pip install " + (" ".join(packages) or f"'.[{extra}]' in a clone of it")


def _packages(extra: str) -> Iterator[str]:
    """The requirements of an extra, such as ``numpy>=2.0``; nothing where this copy of Merrow is no installed package."""
    try:
        known = requires("merrow") or []
    except PackageNotFoundError:
        return
    for listed in known:
        requirement, _, condition = listed.partition(";")
        if condition.strip().replace("'", '"') == f'extra == "{extra}"':
            yield requirement.strip()
