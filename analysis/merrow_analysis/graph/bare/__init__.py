"""Plain graphs: successors, order and reachability, without any meaning of nodes."""
