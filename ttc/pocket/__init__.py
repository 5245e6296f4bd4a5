"""The embedded exam: questions made by program, whose truth is known, for a tiny model that ships with the project."""
