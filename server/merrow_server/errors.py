"""What goes wrong because of what the user gave."""


class InputError(Exception):
    """A file, folder or option can't be used; ``str()`` of it is one sentence for the user that says what to do."""
