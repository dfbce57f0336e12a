"""The core of the language server: protocol, open documents, their surroundings, scheduling, settings, logging."""
