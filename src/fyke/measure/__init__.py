"""Own figures on this machine: what `fyke bench` prints."""
