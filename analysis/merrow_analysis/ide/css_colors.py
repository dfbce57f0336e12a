"""CSS colours: what a value of ``fill``, ``stroke`` or ``color`` looks like (CSS Color Module Level 4)."""

from __future__ import annotations

import colorsys
import re
from dataclasses import dataclass

_NAMED = """
aliceblue f0f8ff antiquewhite faebd7 aqua 00ffff aquamarine 7fffd4 azure f0ffff beige f5f5dc bisque ffe4c4 black 000000
blanchedalmond ffebcd blue 0000ff blueviolet 8a2be2 brown a52a2a burlywood deb887 cadetblue 5f9ea0 chartreuse 7fff00
chocolate d2691e coral ff7f50 cornflowerblue 6495ed cornsilk fff8dc crimson dc143c cyan 00ffff darkblue 00008b
darkcyan 008b8b darkgoldenrod b8860b darkgray a9a9a9 darkgreen 006400 darkgrey a9a9a9 darkkhaki bdb76b
darkmagenta 8b008b darkolivegreen 556b2f darkorange ff8c00 darkorchid 9932cc darkred 8b0000 darksalmon e9967a
darkseagreen 8fbc8f darkslateblue 483d8b darkslategray 2f4f4f darkslategrey 2f4f4f darkturquoise 00ced1
darkviolet 9400d3 deeppink ff1493 deepskyblue 00bfff dimgray 696969 dimgrey 696969 dodgerblue 1e90ff firebrick b22222
floralwhite fffaf0 forestgreen 228b22 fuchsia ff00ff gainsboro dcdcdc ghostwhite f8f8ff gold ffd700 goldenrod daa520
gray 808080 green 008000 greenyellow adff2f grey 808080 honeydew f0fff0 hotpink ff69b4 indianred cd5c5c indigo 4b0082
ivory fffff0 khaki f0e68c lavender e6e6fa lavenderblush fff0f5 lawngreen 7cfc00 lemonchiffon fffacd lightblue add8e6
lightcoral f08080 lightcyan e0ffff lightgoldenrodyellow fafad2 lightgray d3d3d3 lightgreen 90ee90 lightgrey d3d3d3
lightpink ffb6c1 lightsalmon ffa07a lightseagreen 20b2aa lightskyblue 87cefa lightslategray 778899
lightslategrey 778899 lightsteelblue b0c4de lightyellow ffffe0 lime 00ff00 limegreen 32cd32 linen faf0e6
magenta ff00ff maroon 800000 mediumaquamarine 66cdaa mediumblue 0000cd mediumorchid ba55d3 mediumpurple 9370db
mediumseagreen 3cb371 mediumslateblue 7b68ee mediumspringgreen 00fa9a mediumturquoise 48d1cc mediumvioletred c71585
midnightblue 191970 mintcream f5fffa mistyrose ffe4e1 moccasin ffe4b5 navajowhite ffdead navy 000080 oldlace fdf5e6
olive 808000 olivedrab 6b8e23 orange ffa500 orangered ff4500 orchid da70d6 palegoldenrod eee8aa palegreen 98fb98
paleturquoise afeeee palevioletred db7093 papayawhip ffefd5 peachpuff ffdab9 peru cd853f pink ffc0cb plum dda0dd
powderblue b0e0e6 purple 800080 rebeccapurple 663399 red ff0000 rosybrown bc8f8f royalblue 4169e1 saddlebrown 8b4513
salmon fa8072 sandybrown f4a460 seagreen 2e8b57 seashell fff5ee sienna a0522d silver c0c0c0 skyblue 87ceeb
slateblue 6a5acd slategray 708090 slategrey 708090 snow fffafa springgreen 00ff7f steelblue 4682b4 tan d2b48c
teal 008080 thistle d8bfd8 tomato ff6347 turquoise 40e0d0 violet ee82ee wheat f5deb3 white ffffff whitesmoke f5f5f5
yellow ffff00 yellowgreen 9acd32
""".split()  # noqa: SIM905 - a table of pairs is easier to read than a list of strings
NAMED = dict(zip(_NAMED[::2], _NAMED[1::2], strict=True))
"""The named colours and their six hexadecimal digits."""

_NAMES = {digits: name for name, digits in reversed(NAMED.items())}
_HEX_LENGTHS = (3, 4, 6, 8)
_FUNCTION = re.compile(r"(rgb|hsl)a?\(([^()]*)\)", re.IGNORECASE)
_NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+))(%|deg|turn|rad)?")
_TURN = {"turn": 1.0, "rad": 1 / 6.283185307179586, "deg": 1 / 360, "": 1 / 360, "%": 1 / 100}


@dataclass(frozen=True, slots=True)
class Color:
    """Red, green, blue and opacity, each from 0 to 1."""

    red: float
    green: float
    blue: float
    alpha: float = 1.0


def read_color(text: str) -> Color | None:
    """The colour that a word or function of CSS stands for; None for anything else."""
    text = text.strip()
    if text.startswith("#"):
        return _hexadecimal(text[1:])
    digits = NAMED.get(text.lower())
    if digits is not None:
        return _hexadecimal(digits)
    if text.lower() == "transparent":
        return Color(0.0, 0.0, 0.0, 0.0)
    function = _FUNCTION.fullmatch(text)
    return None if function is None else _function(function[1].lower(), function[2])


def hexadecimal(color: Color) -> str:
    """``#rrggbb``, with two more digits for what is not opaque."""
    parts = [color.red, color.green, color.blue, *([color.alpha] if _byte(color.alpha) < 255 else [])]
    return "#" + "".join(f"{_byte(part):02x}" for part in parts)


def color_name(color: Color) -> str | None:
    """The name that CSS has for exactly this colour."""
    return _NAMES.get(hexadecimal(color)[1:])


def _byte(part: float) -> int:
    return round(min(max(part, 0.0), 1.0) * 255)


def _hexadecimal(digits: str) -> Color | None:
    if len(digits) not in _HEX_LENGTHS or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
        return None
    if len(digits) < 6:
        digits = "".join(digit * 2 for digit in digits)
    return Color(*(int(digits[at : at + 2], 16) / 255 for at in range(0, len(digits), 2)))


def _function(name: str, arguments: str) -> Color | None:
    numbers = _NUMBER.findall(arguments)
    if not 3 <= len(numbers) <= 4 or _NUMBER.sub("", arguments).strip(" ,/\t"):
        return None
    values = [(float(number), unit) for number, unit in numbers]
    alpha = 1.0
    if len(values) == 4:
        alpha = _clamped(values[3][0] / 100 if values[3][1] == "%" else values[3][0])
    if name == "rgb":
        red, green, blue = (_clamped(value / (100 if unit == "%" else 255)) for value, unit in values[:3])
        return Color(red, green, blue, alpha)
    hue = values[0][0] * _TURN[values[0][1]] % 1.0
    saturation, lightness = (_clamped(value / 100) for value, _ in values[1:3])
    return Color(*colorsys.hls_to_rgb(hue, lightness, saturation), alpha)


def _clamped(part: float) -> float:
    return min(max(part, 0.0), 1.0)
