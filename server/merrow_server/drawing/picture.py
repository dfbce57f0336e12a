"""A flowchart as SVG or PNG: a page with Mermaid that draws it and writes the result into itself.

The page may load nothing and run no script but its own two: what labels contain is shown as the preview shows it, as words.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import secrets
from pathlib import Path
from typing import Literal

from merrow_server.drawing.browser import page_after_loading
from merrow_server.errors import RunFailure

Theme = Literal["light", "dark"]
Kind = Literal["svg", "png"]
THEMES: dict[Theme, dict[str, object]] = {
    "light": {
        "dark": False,
        "highContrast": False,
        "background": "#ffffff",
        "foreground": "#1f1f1f",
        "line": "#616161",
        "border": "#8a8a8a",
        "fill": "#f5f5f5",
        "groupFill": "#fafafa",
        "font": "Helvetica, Arial, sans-serif",
    },
    "dark": {
        "dark": True,
        "highContrast": False,
        "background": "#1f1f1f",
        "foreground": "#d4d4d4",
        "line": "#9a9a9a",
        "border": "#7a7a7a",
        "fill": "#2f2f2f",
        "groupFill": "#262626",
        "font": "Helvetica, Arial, sans-serif",
    },
}
_ENGINE = Path(__file__).with_name("engine.js.gz")
"""The extension's Mermaid; `scripts/pack_engine.py` makes it."""
_NO_IMAGE = "image cannot be decoded"
"""What a browser says of an image that it could not or may not load."""
_ANSWER = re.compile(r'<pre id="answer">([A-Za-z0-9+/=]+)</pre>')
_DRIVER = """
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const asked = JSON.parse(new TextDecoder().decode(bytes(document.body.dataset.asked)));
const answer = (value) => {
  const place = document.createElement('pre');
  place.id = 'answer';
  let letters = '';
  for (const byte of new TextEncoder().encode(JSON.stringify(value))) letters += String.fromCharCode(byte);
  place.textContent = btoa(letters);
  document.body.replaceChildren(place);
};
const bitmap = async (svg, width, height) => {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const scale = Math.min(2, 16000 / width, 16000 / height);
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const context = canvas.getContext('2d');
  context.fillStyle = asked.theme.background;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  const data = canvas.toDataURL('image/png');
  const start = 'data:image/png;base64,';
  if (!data.startsWith(start)) throw new Error('it is too large for a PNG; write an SVG');
  return data.slice(start.length);
};
const finish = async ({ drawing, problem }) => {
  if (problem !== undefined) return answer({ problem });
  const host = document.createElement('template');
  host.innerHTML = drawing.frame;
  const picture = host.content.querySelector('svg');
  picture.setAttribute('width', String(Math.ceil(drawing.width)));
  picture.setAttribute('height', String(Math.ceil(drawing.height)));
  if (asked.theme.dark) picture.style.background = asked.theme.background;
  for (const node of picture.querySelectorAll('[data-node], [data-look]')) {
    node.removeAttribute('data-node');
    node.removeAttribute('data-look');
  }
  const svg = new XMLSerializer().serializeToString(picture);
  answer(asked.format === 'svg' ? { svg } : { png: await bitmap(svg, drawing.width, drawing.height) });
};
const channel = new MessageChannel();
channel.port1.onmessage = ({ data }) => {
  if (data === 'ready') {
    const request = { text: asked.text, theme: asked.theme, edgeWords: {}, portable: true };
    channel.port1.postMessage({ id: 1, request });
  } else finish(data).catch((problem) => answer({ problem: String(problem.message) }));
};
postMessage('', '*', [channel.port2]);
"""


def draw(text: str, kind: Kind, theme: Theme, seconds: float) -> bytes:
    """The picture of a flowchart, drawn within ``seconds``. Raises `InputError` or `RunFailure` with a sentence."""
    engine = gzip.decompress(_ENGINE.read_bytes()).decode("utf-8")
    asked = {"text": text, "theme": THEMES[theme], "format": kind}
    page = page_after_loading(_page(engine, asked), seconds)
    match = _ANSWER.search(page)
    if match is None:
        raise RunFailure(f"The browser drew nothing within {seconds:g} seconds; --timeout allows more.")
    answer = json.loads(base64.b64decode(match[1]))
    if "problem" in answer:
        problem = " ".join(str(answer["problem"]).split()).rstrip(".")
        if _NO_IMAGE in problem:
            raise RunFailure(
                "An image in it can't be shown: merrow render loads nothing from files or other addresses."
            )
        raise RunFailure(f"Mermaid can't draw this: {problem}.")
    if kind == "png":
        return base64.b64decode(answer["png"])
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{answer["svg"]}\n'.encode()


def _page(engine: str, asked: object) -> str:
    nonce = secrets.token_urlsafe(18)
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src 'nonce-{nonce}'",
            "style-src 'unsafe-inline'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    data = base64.b64encode(json.dumps(asked).encode()).decode()
    scripts = "".join(f'<script nonce="{nonce}">{_inline(script)}</script>' for script in (engine, _DRIVER))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"></head>'
        f'<body data-asked="{data}">{scripts}</body></html>'
    )


def _inline(script: str) -> str:
    """A script as it is written between its tags: no text in it may end them or begin a comment."""
    return re.sub(r"<(?=/script|!--|script)", r"\\x3c", script, flags=re.IGNORECASE)
