"""The journal in PostgreSQL, for a team and for many workers; needs the extra ``merrow[postgres]``."""
