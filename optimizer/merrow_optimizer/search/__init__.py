"""Search: which candidate to score next, on which items, from the outcomes so far. Nothing here calls a model."""
