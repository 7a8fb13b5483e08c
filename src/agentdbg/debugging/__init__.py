"""The debugging session without a terminal: actions, cursor, marks, and what each detail tab says."""
