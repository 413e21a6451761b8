"""Profiles, traces, timings, tuning and explanations of a simulation. Imports runtime and the layers below."""
