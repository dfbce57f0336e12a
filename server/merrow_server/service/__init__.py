"""A workflow served on this machine: runs for those who ask by HTTP or by the Model Context Protocol."""
