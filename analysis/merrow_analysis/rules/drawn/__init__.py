"""What a flowchart says as Mermaid reads it: statements, classes, plain steps, comments that silence rules."""
