"""What a workflow is worth on a data set: items, metrics, scores and their uncertainty."""
