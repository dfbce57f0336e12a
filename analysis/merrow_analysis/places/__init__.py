"""Where in a file something is named or said."""
