"""From one place to others: definitions, references, calls, links, outlines."""
