"""Whole states: snapshots, copies of worlds, recordings and replays. It imports runtime and what is below."""
