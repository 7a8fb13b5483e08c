"""What a run is. Pure: standard library, orjson where importable."""
