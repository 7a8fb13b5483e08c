"""Fixed strings that people read, in their language."""
