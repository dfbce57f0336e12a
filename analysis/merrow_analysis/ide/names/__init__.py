"""Where names stand: definitions, references, renaming."""
