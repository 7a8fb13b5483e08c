"""Runs as files for people and programs that have no agentdbg."""
