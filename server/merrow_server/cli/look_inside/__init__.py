"""Commands of the group "Look inside"."""
