"""The commands of `ttc`, by what they are about. Heavy imports stay inside the functions."""
