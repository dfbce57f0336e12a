"""The Merrow language: text to syntax to typed graph to diagnostics, fixes, metrics and formatting. Pure: no files, no network."""
