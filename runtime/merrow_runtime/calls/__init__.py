"""Calls to models and to the sandbox: asked for, answered, counted and kept."""
