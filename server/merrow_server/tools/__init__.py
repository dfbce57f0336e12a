"""Servers of tools as `merrow tools` adds, pins, lists, compares and trusts them."""
