"""What goes wrong because of what the user gave."""

from merrow_runtime.errors import InputError

__all__ = ["InputError"]
