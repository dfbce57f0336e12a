"""What goes wrong because of what the user gave."""

from merrow_runtime.errors import InputError, RunFailure

__all__ = ["InputError", "RunFailure"]
