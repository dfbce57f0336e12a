"""Draw images/icon.png: an M whose strokes are the edges of a small flowchart, over deep water.

python scripts/make_icon.py
"""

from __future__ import annotations

import math
import struct
import sys
import zlib
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "images" / "icon.png"
SIZE = 256
FINER = 3
"""Samples of a pixel in each direction: what makes edges smooth."""

Colour = tuple[float, float, float]
Point = tuple[float, float]

DEEP: Colour = (0.05, 0.09, 0.24)
SHALLOW: Colour = (0.05, 0.45, 0.52)
LIGHT: Colour = (0.62, 0.97, 0.90)
PEARL: Colour = (1.0, 1.0, 1.0)
CORAL: Colour = (1.0, 0.52, 0.42)

# Places in a square of side 1, y downwards.
LEFT, LEFT_TOP, MIDDLE, RIGHT_TOP, RIGHT = (0.21, 0.76), (0.27, 0.27), (0.5, 0.6), (0.73, 0.27), (0.79, 0.76)
EDGES = ((LEFT_TOP, LEFT), (LEFT_TOP, MIDDLE), (RIGHT_TOP, MIDDLE), (RIGHT_TOP, RIGHT))
NODES = ((LEFT, LIGHT), (LEFT_TOP, PEARL), (MIDDLE, CORAL), (RIGHT_TOP, PEARL), (RIGHT, LIGHT))
RADIUS, STROKE, CORNER, MARGIN = 0.078, 0.024, 0.22, 0.02


def mix(first: Colour, second: Colour, share: float) -> Colour:
    """A colour between two; ``share`` is that of the second, from 0 to 1."""
    one, two, three = (a + (b - a) * share for a, b in zip(first, second, strict=True))
    return one, two, three


def to_segment(point: Point, start: Point, end: Point) -> float:
    """The distance of a point from a segment."""
    across, down = end[0] - start[0], end[1] - start[1]
    along = ((point[0] - start[0]) * across + (point[1] - start[1]) * down) / (across * across + down * down)
    along = min(1.0, max(0.0, along))
    return math.dist(point, (start[0] + along * across, start[1] + along * down))


def inside_tile(point: Point) -> bool:
    """Whether a point lies on the tile with its round corners."""
    across = max(abs(point[0] - 0.5) - (0.5 - MARGIN - CORNER), 0.0)
    down = max(abs(point[1] - 0.5) - (0.5 - MARGIN - CORNER), 0.0)
    return math.hypot(across, down) <= CORNER


def water(point: Point) -> Colour:
    """The ground: darker with depth, with two soft waves."""
    colour = mix(SHALLOW, DEEP, min(1.0, max(0.0, point[1] * 1.05)))
    for level, swing in ((0.86, 0.022), (0.93, 0.016)):
        if point[1] > level + swing * math.sin(2 * math.pi * (point[0] * 1.5 + level)):
            colour = mix(colour, SHALLOW, 0.28)
    return colour


def sample(point: Point) -> tuple[Colour, float]:
    """The colour of a point and how much it covers."""
    if not inside_tile(point):
        return (0.0, 0.0, 0.0), 0.0
    for place, colour in NODES:
        away = math.dist(point, place)
        if away <= RADIUS:
            return mix(colour, DEEP, 0.16 * (away / RADIUS) ** 4), 1.0
        if away <= RADIUS + 0.018:
            return water(point), 1.0
    if min(to_segment(point, *edge) for edge in EDGES) <= STROKE:
        return mix(PEARL, LIGHT, point[1]), 1.0
    return water(point), 1.0


def pixel(column: int, row: int) -> bytes:
    """The mean of a pixel's samples, as red, green, blue and opacity."""
    total = [0.0, 0.0, 0.0]
    covered = 0.0
    for step in range(FINER * FINER):
        across, down = column + (step % FINER + 0.5) / FINER, row + (step // FINER + 0.5) / FINER
        colour, opacity = sample((across / SIZE, down / SIZE))
        covered += opacity
        total = [sum_ + part * opacity for sum_, part in zip(total, colour, strict=True)]
    if covered == 0:
        return bytes(4)
    return bytes(round(255 * part / covered) for part in total) + bytes([round(255 * covered / FINER**2)])


def chunk(kind: bytes, data: bytes) -> bytes:
    """A part of a PNG file: length, kind, data, check sum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def main() -> int:
    """Draw and write the picture; the exit code."""
    rows = b"".join(b"\0" + b"".join(pixel(column, row) for column in range(SIZE)) for row in range(SIZE))
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 6, 0, 0, 0)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows, 9)), chunk(b"IEND", b""))
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))
    sys.stdout.write(f"images/icon.png: {TARGET.stat().st_size / 1000:.1f} kB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
