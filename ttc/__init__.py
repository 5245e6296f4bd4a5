"""The benchmark core and the inference strategies."""
