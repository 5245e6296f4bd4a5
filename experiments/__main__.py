"""`python -m experiments` is `ttc`."""

from experiments.cli import main

main()
