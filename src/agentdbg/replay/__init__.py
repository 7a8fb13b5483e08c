"""Re-executing a run against its record."""
