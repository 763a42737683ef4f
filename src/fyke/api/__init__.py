"""The HTTP face: thin routers that validate, call, and put the answer in its envelope."""
