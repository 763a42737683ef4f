"""`python -m fyke` is `fyke`."""

from fyke.cli.main import main

main()
