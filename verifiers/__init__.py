"""What scores a sample without seeing the gold answer."""
