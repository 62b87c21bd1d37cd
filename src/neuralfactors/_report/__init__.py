"""Run folders in, one self-contained HTML file out; never loads a model.

`read_results` reads a run or a comparison, `compare_with_paper` puts it beside the paper's figures, and `write_report`
makes the page: tables, findings, charts as inline SVG, and example pictures.
"""

from neuralfactors._common.extras import needs

with needs("a report", "segment"):
    from neuralfactors._report.page import write_report
    from neuralfactors._report.results import RunResults, read_results
    from neuralfactors._report.tables import Comparison, compare_with_paper

__all__ = ["Comparison", "RunResults", "compare_with_paper", "read_results", "write_report"]
