"""Workers in other processes: the same engine behind a queue that talks over a wire."""
