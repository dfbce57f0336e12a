"""Jobs that are kept in the user's store, each with a journal of its own, such as evaluations, searches and extractions."""
