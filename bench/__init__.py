"""Side by side with peers: one command, a table out. See docs/benchmarks.md."""
