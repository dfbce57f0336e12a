"""Reproductions of the papers' tables: what is asked for, what it may cost, carried out as jobs, and the table at the end."""
