"""Inside the agent's process: the recorder and its seams."""
