"""Adapters for agent frameworks: what their patched methods say of agents, tools and approvals."""
