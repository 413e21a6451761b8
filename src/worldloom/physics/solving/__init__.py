"""The solver of contacts: impulses of one contact, its stages in a substep, energy and sleep."""
