"""Workflows planned from a task in words: a planner's answers read, checked, compared and written as files."""
