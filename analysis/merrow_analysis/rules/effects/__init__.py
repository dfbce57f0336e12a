"""Rules about what operators do beyond asking a model: ask people, and later use tools, stores and environments."""
