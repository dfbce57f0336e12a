"""Which port each edge feeds: labels, the outputs of nodes, and the problems found."""
