"""What ``.gitignore`` files exclude, as git reads them: deeper files speak last, an excluded folder is not entered."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from pathlib import Path

from merrow_analysis.bounded.globs import IgnorePattern, excluded, ignore_patterns


@dataclass(frozen=True, slots=True)
class Ignore:
    """The ``.gitignore`` files that speak about the entries of one folder, outermost first, each with its folder."""

    specs: tuple[tuple[str, tuple[IgnorePattern, ...]], ...] = ()

    @classmethod
    def for_folder(cls, folder: Path) -> Ignore:
        """The files that speak about ``folder``: its own and those above it in its git repository.

        Where those above exclude the folder itself, it was asked for all the same, and they are not heard.
        """
        absolute = folder.resolve()
        chain = [absolute]
        while not (chain[0] / ".git").exists():
            if chain[0].parent == chain[0]:
                chain = [absolute]
                break
            chain.insert(0, chain[0].parent)
        ignore = cls()
        for parent, child in itertools.pairwise(chain):
            ignore = ignore.inside(str(parent))
            if ignore.excludes(str(child), is_folder=True):
                ignore = cls()
                break
        return ignore.inside(str(absolute))

    def inside(self, folder: str) -> Ignore:
        """The same, with what the ``.gitignore`` of ``folder`` adds."""
        try:
            lines = (Path(folder) / ".gitignore").read_text("utf-8", "surrogateescape").splitlines()
        except OSError:
            return self
        spec = tuple(ignore_patterns(lines))
        return Ignore((*self.specs, (os.path.realpath(folder), spec)))

    def excludes(self, path: str, *, is_folder: bool) -> bool:
        """Whether the file or folder at ``path`` is excluded, given that the folder it is in is not."""
        if not self.specs:
            return False
        absolute = Path(path).parent.resolve() / Path(path).name
        for folder, spec in reversed(self.specs):
            relative = os.path.relpath(absolute, folder).replace(os.sep, "/")
            verdict = excluded(spec, relative, is_folder=is_folder)
            if verdict is not None:
                return verdict
        return False
