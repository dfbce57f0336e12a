"""A workflow as a Python program: a part for people to read, and below it the parts of the runtime's code that it needs."""
