"""What can go wrong while a workflow runs. ``str()`` of each is one sentence for the user, without secrets."""

from __future__ import annotations

from typing import ClassVar, Literal

from merrow_runtime.usage import Usage

Needs = Literal["key", "packages"]
"""What a user has to supply before something can succeed: an API key, or the packages that reach endpoints."""


class RunFailure(Exception):  # noqa: N818 (the word of every failure here)
    """Any failure of a run that a user can understand and act on.

    ``code`` names the kind of failure for programs. ``needs`` is what the user has to supply first, where that is known.
    """

    code: ClassVar[str] = "run"

    def __init__(self, message: str, *, needs: Needs | None = None) -> None:
        super().__init__(message)
        self.needs = needs


class UsageFailure(RunFailure):
    """The run was asked for wrongly: a file can't be read, an input is missing, a workflow has errors. Nothing was called."""

    code = "usage"


class InputError(UsageFailure):
    """A file, folder or option can't be used; ``str()`` of it is one sentence for the user that says what to do."""

    code = "input"


class EndpointFailure(RunFailure):
    """A model's endpoint did not answer as it must.

    ``transient`` tells that a later try may succeed; ``fatal`` that no call to this endpoint (or, with ``model``, of this
    model there) can succeed: it stops them all at once. ``retry_after`` is in seconds, as the endpoint asked. ``usage`` is
    what the try has used all the same; ``paid`` that it was perhaps paid where nothing tells what it used. ``sent`` is False
    where the endpoint was not reached, so that nothing can have been paid.
    """

    code = "endpoint"

    def __init__(
        self,
        message: str,
        *,
        transient: bool = False,
        fatal: bool = False,
        model: str | None = None,
        retry_after: float | None = None,
        usage: Usage | None = None,
        paid: bool = False,
        needs: Needs | None = None,
        sent: bool = True,
    ) -> None:
        super().__init__(message, needs=needs)
        self.usage = usage
        self.paid = paid
        self.sent = sent
        self.transient = transient
        self.fatal = fatal
        self.model = model
        self.retry_after = retry_after


class AnswerFailure(RunFailure):
    """A model's answer can't be used: unparsable, cut, refused. ``remedy`` is what to tell the model when it is asked anew."""

    code = "answer"

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class NodeFailure(RunFailure):
    """A node has no result: its operator gave up."""

    code = "node"


class BudgetFailure(RunFailure):
    """The budget doesn't allow the next call."""

    code = "budget"


class ReplayMiss(RunFailure):
    """A recording has no answer for this request."""

    code = "replay"


class StoreFailure(RunFailure):
    """The journal can't be read or written: a full disk, a locked or damaged file."""

    code = "journal"
