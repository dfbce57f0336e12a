"""Turns steps of a workflow into operators, or replaces them by declared ones: edits only, without a model."""
