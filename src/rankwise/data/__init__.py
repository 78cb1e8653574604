"""Rows: the data matrix as an operator, its scores, and the backends that hold rows elsewhere."""
