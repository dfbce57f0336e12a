"""The core of the language server: protocol, open documents, their context, scheduling, settings, logging."""
