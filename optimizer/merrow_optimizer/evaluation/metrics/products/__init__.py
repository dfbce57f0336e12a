"""Scorers of products: files made by a workflow, judged by criteria that are met or missed, each with its evidence."""
