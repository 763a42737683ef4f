"""Values only: what flows between the rooms. No I/O, no framework."""
