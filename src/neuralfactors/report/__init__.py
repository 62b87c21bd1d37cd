"""Run folders in, one self-contained HTML file out; never loads a model."""

from neuralfactors.report.figures import comparison_figures
from neuralfactors.report.page import write_report

__all__ = ["comparison_figures", "write_report"]
