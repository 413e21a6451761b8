"""Which agents a policy controls, and what they observe and do: specs, agent groups, policy groups.

Imports core and ``config``.
"""
