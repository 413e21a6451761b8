"""Definitions of worlds: their validation, ids, fingerprints and files. It imports frontend and what is below."""
