"""Why an answer of a model can't be used."""

from __future__ import annotations

from collections.abc import Sequence

from merrow_runtime.errors import AnswerFailure


class AnswerRefused(AnswerFailure):
    """An answer can't be used, for these reasons, each a sentence that the model is told. ``is_leak`` says that it repeats a
    case.
    """

    def __init__(self, sentences: Sequence[str], *, is_leak: bool = False) -> None:
        told = "\n".join(f"- {sentence}" for sentence in sentences)
        again = f"The answer can't be used:\n{told}\nAnswer with the whole object again."
        super().__init__(" ".join(sentences), advice=again)
        self.sentences = list(sentences)
        self.is_leak = is_leak
