"""Shapes of text that grow with a number: long, deep, wide, broken, commented, or many of one thing."""

from __future__ import annotations

from tests.growth import language_shapes, markdown_shapes, odd_shapes, plain_shapes, workflow_shapes
from tests.growth.shape import SHAPES, Shape

__all__ = ["SHAPES", "Shape", "language_shapes", "markdown_shapes", "odd_shapes", "plain_shapes", "workflow_shapes"]
