"""One file for each feature of the language server: each has ``register(server)`` and bridges to a pure function.

``merrow_analysis.ide`` and its imports are loaded when a feature is first used, not to answer ``initialize``: within these
modules write ``from merrow_analysis.ide import hover``, never ``from merrow_analysis.ide.hover import hover``.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from merrow_server.lsp.server import MerrowServer

_LAZY = "merrow_analysis.ide."


def names() -> list[str]:
    """All features in alphabetical order, those in subfolders as ``folder.feature``."""
    here = f"{__name__}."
    return sorted(
        module.name.removeprefix(here) for module in pkgutil.walk_packages(__path__, here) if not module.ispkg
    )


def register_all(server: MerrowServer) -> None:
    """Register every feature."""
    with _lazily():
        modules = [importlib.import_module(f"{__name__}.{name}") for name in names()]
    for module in modules:
        module.register(server)


class _LazyFinder:
    """Finds the modules of ``merrow_analysis.ide`` so that they are executed when something of them is first asked for.

    Not derived from ``importlib.abc.MetaPathFinder``: importing that takes longer than all that is done here.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(_LAZY):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = importlib.util.LazyLoader(spec.loader)
        return spec


@contextmanager
def _lazily() -> Iterator[None]:
    finder = _LazyFinder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
