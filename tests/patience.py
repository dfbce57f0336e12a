"""How long tests wait for what must come."""

PATIENCE = 120.0
"""Seconds after which what has not come never will: a machine may stand still for a third of them, and be slow besides.

A test that passes waits for none of them. What must *not* come is never waited for: a test waits for what comes later.
"""
