"""The flowchart in a text, and the typed workflow that Merrow derives from it."""
