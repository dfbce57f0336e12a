"""Navigation: definitions, references, calls, links, outlines."""
