"""Run folders in, one self-contained HTML file out; never loads a model."""

from neuralfactors.report.page import write_report

__all__ = ["write_report"]
