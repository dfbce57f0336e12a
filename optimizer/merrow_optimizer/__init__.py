"""Better workflows: mutations and search. Nothing here yet: this package is where the optimizer will live."""
