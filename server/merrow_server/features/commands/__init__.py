"""Merrow's own commands and requests, by which an editor works with a workflow, its runs and its journal."""
