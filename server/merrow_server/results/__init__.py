"""The rows of evaluations, batches, comparisons and searches as one kind of table, of which editors ask a page at a time."""
