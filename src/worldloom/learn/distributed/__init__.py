"""Training in several processes: ranks, reductions, and means over all of them.

Imports core only. The Ray launcher starts whole runs and is therefore in ``runs``.
"""
