"""Rules about what the front matter declares by name, and the nodes that use it."""
