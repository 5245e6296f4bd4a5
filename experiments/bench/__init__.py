"""How fast, how lean: `python -m experiments.bench` prints the table; `gpu.py` is its part for a machine with one GPU."""
