"""Cases of workflows for all interfaces: found, checked, run, reported, and made from runs."""
