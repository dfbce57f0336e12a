"""Programs that have environments in a process of their own, as servers of the Model Context Protocol."""
