"""What can go wrong while a workflow runs. ``str()`` of each is one sentence for the user, without secrets."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Literal, Self

from merrow_runtime.usage import Usage
from merrow_runtime.visit import Visit

Remedy = Literal["key", "packages", "model", "tools"]
"""What a user has to supply before something can succeed: an API key, the packages that reach endpoints, a model that the
endpoint has, or the packages that reach servers of tools.
"""


class RunFailure(Exception):  # noqa: N818 (the word of every failure here)
    """Any failure of a run that a user can understand and act on.

    ``code`` names the kind of failure for programs. ``node`` and ``path`` say which node failed and in which frame, where
    it was one: who raises the failure of a node gives ``node`` where the sentence names it, and ``reason``, the sentence
    without that name, where it begins with it. ``remedy`` is what the user has to supply first, where that is known.
    """

    code: ClassVar[str] = "run"

    def __init__(
        self, message: str, *, node: str | None = None, reason: str | None = None, remedy: Remedy | None = None
    ) -> None:
        super().__init__(message)
        self.node = node
        self.path = ""
        self.reason = message if reason is None else reason
        self.remedy: Remedy | None = remedy
        self._is_named = node is not None
        self._is_met = False

    @classmethod
    def of(cls, node: str, reason: str) -> Self:
        """The failure of a node, in a sentence that begins with its name."""
        return cls(f"Node {node}: {reason}", node=node, reason=reason)

    def at(self, node: str, path: str) -> Self:
        """The same failure, met by this node. It is a copy: one failure of an endpoint may be met by many nodes. One that was met
        inside a called file stays there.
        """
        if self._is_met:
            return self
        failure = copy.copy(self)
        failure._is_met = True
        failure.node = self.node or node
        failure.path = path
        failure.__cause__ = self.__cause__
        return failure.with_traceback(self.__traceback__)

    @property
    def sentence(self) -> str:
        """The failure in a sentence for those who see nothing of the node: it names it with its turn or item, if any."""
        message = str(self)
        if self.node is None:
            return message
        own = f"Node {self.node}: "
        if message.startswith(own) or not self._is_named:
            return f"Node {Visit(self.node, self.path).name}: {message.removeprefix(own)}"
        return f"In {self.path}: {message}" if self.path else message

    def fields(self) -> dict[str, Any]:
        """What programs read: ``code``, and ``node``, ``path`` and ``remedy`` as far as there are any."""
        shown: dict[str, Any] = {"code": self.code}
        if self.node is not None:
            shown |= {"node": self.node, "path": self.path}
        if self.remedy is not None:
            shown["remedy"] = self.remedy
        return shown


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
    where the endpoint was not reached, so that nothing can have been paid. ``too_many`` says that it takes no more calls for
    now, whoever makes them.
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
        remedy: Remedy | None = None,
        sent: bool = True,
        too_many: bool = False,
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.too_many = too_many
        self.usage = usage
        self.paid = paid
        self.sent = sent
        self.transient = transient
        self.fatal = fatal
        self.model = model
        self.retry_after = retry_after


class RephrasedFailure(EndpointFailure):
    """An endpoint refused a request for its form, and it is known now in which form it takes it: asking again at once helps. It
    costs nothing, and is no retry that a policy counts.
    """


class EmptyAnswerFailure(EndpointFailure):
    """A model answered, but with no text. Who checks answers and sends them back may take it for one."""


class AnswerFailure(RunFailure):
    """A model's answer can't be used: unparsable, cut, refused. ``advice`` is what to tell the model when it is asked again."""

    code = "answer"

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice


class NodeFailure(RunFailure):
    """A node has no result: its operator gave up."""

    code = "node"


class UnansweredFailure(NodeFailure):
    """A person declined to answer the question of a node, or nobody did in time. To continue the run does not ask again."""


class InvalidFailure(NodeFailure):
    """A node's result does not pass its validator, in none of its attempts. ``on_invalid`` is what the node says about that:
    ``fail``, ``skip``, or ``refine`` where a revision of the workflow is asked for.
    """

    code = "invalid"
    on_invalid = "fail"


class ValidatorFailure(NodeFailure):
    """A validator can't judge a result: it raised, did not end, has no tests, or its model gave no verdict."""

    code = "validator"


class UnreachedFailure(NodeFailure):
    """A tool was not called, or nobody knows what came of it, since its server did not answer: no fault of the workflow."""

    code = "tool"


class DiffersFailure(UnreachedFailure):
    """A tool was not called, since its server says something else of it than its pin."""

    code = "tool_differs"


class ToolFailure(RunFailure):
    """A server of tools can't be started or reached, or did not keep to the protocol or its limits, or refused a call. ``told``
    is the end of what its program wrote to its standard error, fit to be shown. ``answered`` says that the server itself
    refused a call, rather than that nobody knows what came of it; ``differs`` that a tool is no longer what was pinned.
    """

    code = "tool"

    def __init__(self, message: str, *, told: str = "", answered: bool = False, differs: bool = False) -> None:
        super().__init__(message)
        self.told, self.answered, self.differs = told, answered, differs


class StaleStateFailure(ToolFailure):
    """A server does not know the state any more with which it had asked for answers, and has not done what it was called for."""


class BudgetFailure(RunFailure):
    """The budget doesn't allow the next call."""

    code = "budget"


class ReplayMiss(RunFailure):
    """A recording has no answer for this request."""

    code = "replay"


class StoreFailure(RunFailure):
    """The journal can't be read or written: a full disk, a locked or damaged file."""

    code = "journal"
