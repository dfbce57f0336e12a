"""What nodes and boxes say of themselves: labels with their parameters, titles, and the metadata in ``@{ ... }``."""
