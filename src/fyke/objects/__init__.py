"""Where artifacts lie: exports, page bodies, evidence. Knows only core."""
