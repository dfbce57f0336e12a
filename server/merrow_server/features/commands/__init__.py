"""Commands and requests of Merrow's own: what an editor has done with a workflow, its runs, its journal."""
