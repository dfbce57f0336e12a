"""What is written on nodes and boxes: labels with their parameters, titles, and the metadata in ``@{ ... }``."""
