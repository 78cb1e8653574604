"""Convex-hull ranking (Fung et al. 2006): program, solver, estimators, and comparisons of orders."""
