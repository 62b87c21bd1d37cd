"""Run folders in, one self-contained HTML file out; never loads a model."""

from neuralfactors.extras import needs

with needs(__name__, "segment"):
    from neuralfactors.report.page import write_report
    from neuralfactors.report.results import RunResults, read_results
    from neuralfactors.report.tables import Comparison, compare_with_paper

__all__ = ["Comparison", "RunResults", "compare_with_paper", "read_results", "write_report"]
