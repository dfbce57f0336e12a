"""Cases of workflows for every front door: found, checked, carried out, reported, and made of runs."""
