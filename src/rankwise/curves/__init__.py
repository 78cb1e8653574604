"""Additive models: a curve per feature, learned by ranking."""
