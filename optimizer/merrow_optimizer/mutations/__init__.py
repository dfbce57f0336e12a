"""Safe mutations: operators that turn one valid workflow into another, as minimal edits of its text."""
