"""Where runs live: the run format, its writer and its readers."""
