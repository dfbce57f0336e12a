"""Whether the result of a node is valid: checks without a model, in the sandbox, and by a model."""
