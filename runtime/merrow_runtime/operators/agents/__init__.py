"""The operator whose model uses tools."""
