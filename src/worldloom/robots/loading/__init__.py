"""Loading models of others: in a process of its own, with limits of time and memory; and MuJoCo's warnings."""
