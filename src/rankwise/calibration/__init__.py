"""Scores as grades and probabilities: thresholds, temperatures and cumulative models."""
