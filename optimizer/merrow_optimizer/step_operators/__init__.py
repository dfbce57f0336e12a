"""Steps of a workflow that become operators, or get one that is declared: edits alone, without a model."""
