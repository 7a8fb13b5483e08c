"""Settings, and the directories that agentdbg uses."""
