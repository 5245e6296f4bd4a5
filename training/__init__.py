"""What is learned: models, verifiers, classifiers, and the data they learn from."""
