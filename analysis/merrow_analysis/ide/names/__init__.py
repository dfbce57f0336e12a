"""Where names occur: definitions, references, renaming."""
