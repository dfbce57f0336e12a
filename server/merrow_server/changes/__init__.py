"""Texts that are changed for people: fixes, repairs, safe mutations."""
