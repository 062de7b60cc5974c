"""Results of earlier runs, kept outside the tree that they are about."""
