"""What makes the parts go: the worker loop, upkeep, the life cycle."""
