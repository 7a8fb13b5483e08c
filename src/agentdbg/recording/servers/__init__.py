"""Runs in servers: what comes in from outside is a run where it makes calls."""
