"""What calls cost across all runs of a user, and how many are allowed: the ledger, limits per minute, the monthly limit."""
