"""Other crawlers, each used the way its users would."""
