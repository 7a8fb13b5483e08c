"""``agentdbg record``: starting a program so that every Python in it records, and what happens inside those."""
