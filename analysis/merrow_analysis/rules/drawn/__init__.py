"""Rules about the flowchart as Mermaid reads it: statements, classes, plain steps, comments that suppress rules."""
