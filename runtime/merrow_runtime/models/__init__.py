"""Models: endpoints, their dialects, prices, budgets."""
