"""What is run and reported."""
