"""Exact cross-validation of RankRLS: one query, one pair or one fold left out, without refitting."""
