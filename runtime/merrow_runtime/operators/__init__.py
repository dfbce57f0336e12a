"""The implementations of operators, one module each, with its prompt beside it."""
