"""Scorers of products: what a workflow made as files, judged by criteria that are met or not, each with its evidence."""
