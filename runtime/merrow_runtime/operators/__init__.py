"""The operators as they run, one module each with its prompt beside it."""
