"""Merrow's interfaces: the command line and the language server."""
