"""The experiments of the papers as data: the rows of their tables, what each needs, its figure, and the papers' arithmetic."""
