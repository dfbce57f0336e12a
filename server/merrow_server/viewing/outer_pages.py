"""The pages around what is shown. They have nothing of any file or job in them but its name: their scripts ask for the rest."""

from __future__ import annotations

import secrets
from html import escape

from starlette.responses import HTMLResponse

from merrow_server.rendering.snippet import plain
from merrow_server.service.listening import sealed

_DRAWING_SECONDS = 20
"""Seconds that a drawing may take before the page gives it up."""


def file_page(root: str, number: int, name: str) -> HTMLResponse:
    """The page of a file: the drawing in a frame, its findings and its runs beside it."""
    return _page(root, name, "file", {"number": str(number)}, "frame-src 'self'; connect-src 'self'")


def job_page(root: str, job: str | None) -> HTMLResponse:
    """The page around that of a job, or around the list of all."""
    data = {} if job is None else {"job": job}
    return _page(root, "Jobs" if job is None else job, "document", data, "frame-src 'self'; connect-src 'self'")


def frame_page(root: str) -> HTMLResponse:
    """The editor extension's preview, which a script takes the place of the editor for."""
    nonce = secrets.token_urlsafe(18)
    policy = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self' 'unsafe-inline'; img-src data:; connect-src 'self';"
        " frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    )
    at = f"{root}/static"
    html = (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>Drawing</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="stylesheet" href="{at}/frame.css">\n<link rel="stylesheet" href="{at}/preview.css">\n</head>\n'
        f'<body data-engine="{at}/engine.js" data-nonce="{nonce}" data-seconds="{_DRAWING_SECONDS}">\n'
        f'<script nonce="{nonce}" src="{at}/frame.js"></script>\n<script nonce="{nonce}" src="{at}/preview.js"></script>\n'
        f"</body>\n</html>\n"
    )
    return HTMLResponse(html, headers=sealed(policy))


def _page(root: str, title: str, name: str, data: dict[str, str], more: str) -> HTMLResponse:
    nonce = secrets.token_urlsafe(18)
    policy = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self'; {more};"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    shown = {"root": root, "name": title, **data}
    attributes = "".join(f' data-{key}="{escape(plain(value))}"' for key, value in shown.items())
    html = (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(plain(title))}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n'
        f'<link rel="stylesheet" href="{root}/static/{name}.css">\n</head>\n<body{attributes}>\n'
        f'<script nonce="{nonce}" src="{root}/static/{name}.js"></script>\n</body>\n</html>\n'
    )
    return HTMLResponse(html, headers=sealed(policy))
