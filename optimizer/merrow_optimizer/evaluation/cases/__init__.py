"""Runs cases: answered from a recording or by an endpoint, and judged by the metrics that they name."""
