"""Which agents a policy controls and what they observe and do: specs, agent groups, their text form. Imports core only."""
