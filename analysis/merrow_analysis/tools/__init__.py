"""Tools of servers: the pins that say what they take and give, and their parameters and results as types."""
