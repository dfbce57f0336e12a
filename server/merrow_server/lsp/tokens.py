"""The token under which the client wants to see the progress of the command that is executed."""

from contextvars import ContextVar

GIVEN_TOKEN: ContextVar[str | int | None] = ContextVar("GIVEN_TOKEN", default=None)
