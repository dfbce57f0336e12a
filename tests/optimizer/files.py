"""Workflow files that lie beside each other, without a disk."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.provider import ResourceError
from merrow_optimizer.mutations.calls.file_set import Files

MAIN = "flow.mmd"


class Texts:
    """Files by path."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = {posixpath.normpath(path): text for path, text in texts.items()}

    def read(self, path: str) -> str:
        if not self.exists(path):
            raise ResourceError(f"{path} can't be read: there is no such file.")
        return self.texts[posixpath.normpath(path)]

    def exists(self, path: str) -> bool:
        return posixpath.normpath(path) in self.texts


def beside(texts: Mapping[str, str]) -> Files:
    """The files around `MAIN`."""
    return Files(MAIN, Texts(texts))


def opened(text: str, texts: Mapping[str, str]) -> Analysis:
    """A text as `MAIN`, among those files."""
    return beside(texts).open(text).analysis()
