"""Random attacks on the whole library, each against brute force or an independent answer: `make attack`.

A kind is a module with a function `case(rng)`, which draws one case, compares, and returns the number of
comparisons (0: there was nothing to compare). Any exception is a find.
"""
