"""Why an answer of a model can't be used."""

from __future__ import annotations

from collections.abc import Sequence


class Refused(Exception):  # noqa: N818 (it is an answer's fate, not an error)
    """An answer can't be used, for these reasons, each a sentence that the model is told. ``is_leak`` says that it repeats a
    case.
    """

    def __init__(self, sentences: Sequence[str], *, is_leak: bool = False) -> None:
        super().__init__(" ".join(sentences))
        self.sentences = list(sentences)
        self.is_leak = is_leak
