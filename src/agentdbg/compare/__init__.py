"""Comparing two runs: headless, by hash first."""
