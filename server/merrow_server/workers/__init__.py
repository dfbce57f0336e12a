"""Evaluations whose items are answered by the workers of a Dask cluster: Dask places the work, the journal keeps it."""
