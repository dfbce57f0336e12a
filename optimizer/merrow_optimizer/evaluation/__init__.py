"""The score of a workflow on a data set: items, metrics, scores and their uncertainty."""
