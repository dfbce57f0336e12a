"""Why a candidate is not offered, in sentences that the model can act on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Stage = Literal["read", "check", "allowed", "data", "size", "duplicate"]
"""The step of the gate that refused: could not be made a text, is not valid, changes what must stay, repeats the data, is too
large, does what is there already.
"""

_MOST = 8
"""Sentences that are told of one candidate."""


class Unusable(Exception):  # noqa: N818 (a candidate is, and no program is at fault)
    """A candidate is refused; ``sentences`` say why."""

    def __init__(self, stage: Stage, sentences: Iterable[str]) -> None:
        self.stage: Stage = stage
        self.sentences = tuple(dict.fromkeys(sentences))[:_MOST]
        super().__init__(" ".join(self.sentences))
