"""Workflows that run: operators, memory, scheduler. Nothing here yet: this package is where the runtime will live."""
