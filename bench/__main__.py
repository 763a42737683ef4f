"""`python -m bench`: what `make bench` calls."""

from bench.run import main

raise SystemExit(main())
