"""The page on which people answer the questions of served runs, in a browser. It has nothing of any run in it, and so needs no
token: that is in the fragment of its address, which no request sends, and its script asks the service with it.
"""

from __future__ import annotations

import secrets
from functools import cache
from importlib.resources import files

from starlette.responses import HTMLResponse

from merrow_server.service.listening import sealed

PATH = "/people"


def people_page() -> HTMLResponse:
    """The page. Only its own script runs in it, it is in no frame of another page, and it reaches nothing but this service."""
    nonce = secrets.token_urlsafe(16)
    policy = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; base-uri 'none';"
        " form-action 'none'; frame-ancestors 'none'"
    )
    return HTMLResponse(_text().replace("NONCE", nonce), headers=sealed(policy))


@cache
def _text() -> str:
    return files(__package__).joinpath("people.html").read_text("utf-8")
