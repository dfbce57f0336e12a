"""A workflow as a Python program: what a person reads, and below it the runtime's own code, as far as it is reached."""
