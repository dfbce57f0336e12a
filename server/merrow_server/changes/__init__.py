"""Changes of texts: fixes, repairs, safe mutations."""
