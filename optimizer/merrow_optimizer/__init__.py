"""Better workflows: safe mutations of a workflow's text, and what is built on them."""
