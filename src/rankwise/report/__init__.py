"""One HTML file that shows what a model learned, how well it ranks and why."""

from rankwise.report.report import Report

__all__ = ["Report"]
