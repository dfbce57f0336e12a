"""Questions to models outside of runs: of judges, planners, and models that suggest or extract. All are put in the same way."""
