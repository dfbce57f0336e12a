"""Calls to models and to the sandbox: requested, answered, counted and stored."""
