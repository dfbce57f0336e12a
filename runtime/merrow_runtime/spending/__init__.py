"""What calls cost over all runs of a user, and how many may be made: the ledger, limits a minute, the month's cap."""
