"""How well the search strategies search, in a simulated family of worlds with published rules and without a model."""

# Before anything else imports numpy: its matrix products then run in one thread, as in a search of a user's.
import merrow_optimizer.search.linear  # noqa: F401
