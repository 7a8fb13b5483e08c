"""Exact replays in a container without network, for `replay --exact --in IMAGE`."""
