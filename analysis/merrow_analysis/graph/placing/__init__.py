"""Which port each edge feeds: what labels say, what nodes give, and what is wrong with it."""
