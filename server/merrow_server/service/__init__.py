"""Serves a workflow on this machine over HTTP and the Model Context Protocol."""
