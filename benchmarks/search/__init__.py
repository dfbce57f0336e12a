"""How well the search strategies search, in a simulated family of worlds with published rules and without a model."""
