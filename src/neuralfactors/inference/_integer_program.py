"""Local problems solved by HiGHS as integer programs over the local polytope."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from neuralfactors.inference._local_problem import Answer, LocalProblem

if TYPE_CHECKING:
    import highspy
    from scipy import sparse

_LARGEST = 100.0  # the largest cost is scaled to this, which suits the solver's absolute tolerances
_DOUBT = 1e-6  # in the same unit: what these tolerances may have made of the bound
_OPTIONS = {
    "output_flag": False,
    "threads": 1,
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 1e-9,
    "mip_feasibility_tolerance": 1e-9,
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
}


@dataclass(frozen=True)
class Program:
    """Maximise gains · x subject to matrix x = right and 0 ≤ x ≤ upper; the indicators of the values are integers."""

    gains: NDArray[np.float64]  # (n_columns,), none above 0
    upper: NDArray[np.float64]  # (n_columns,), 0 where a value is forbidden, otherwise 1
    matrix: "sparse.csr_matrix"  # (n_rows, n_columns)
    right: NDArray[np.float64]  # (n_rows,)
    first: NDArray[np.int64]  # (V + 1,); the indicator of value a of variable v is column first[v] + a
    columns: list[NDArray[np.int64]]  # for each table but those of one variable, the columns of its entries
    offset: float  # what was subtracted to bring the gains below 0


def make_program(problem: LocalProblem) -> Program:
    """An indicator for each value of a variable and for each allowed entry of a table.

    Of each variable one value is chosen. For each axis of a table, the indicators of the entries with a certain value
    there sum to the indicator of that value.
    """
    from scipy import sparse

    first = np.cumsum([0, *problem.sizes])
    own = _own_scores(problem)
    offset = sum(float(scores.max()) for scores in own)
    gains = [_below_best(scores) for scores in own]
    rows, columns = [np.repeat(np.arange(len(own)), problem.sizes)], [np.arange(first[-1])]
    signs, right = [np.ones(first[-1])], [np.ones(len(own))]
    n_rows, n_columns, numbers = len(own), int(first[-1]), []
    for scope, table in problem.tables:
        if len(scope) == 1:
            continue
        allowed = np.nonzero(np.isfinite(table))
        number = np.full(table.shape, -1)
        number[allowed] = entries = np.arange(n_columns, n_columns + len(allowed[0]))
        numbers.append(number)
        n_columns += len(entries)
        offset += float(table.max())
        gains.append(table[allowed] - table.max())
        for v, values in zip(scope, allowed, strict=True):
            each = np.arange(problem.sizes[v])
            rows += [n_rows + values, n_rows + each]
            columns += [entries, first[v] + each]
            signs += [np.ones(len(entries)), -np.ones(len(each))]
            right.append(np.zeros(len(each)))
            n_rows += len(each)
    coordinates = (np.concatenate(rows), np.concatenate(columns))
    matrix = sparse.csr_matrix((np.concatenate(signs), coordinates), shape=(n_rows, n_columns))
    flat = np.concatenate(gains)
    allowed_at_all = np.isfinite(flat)
    return Program(
        gains=np.where(allowed_at_all, flat, 0.0),
        upper=allowed_at_all.astype(float),
        matrix=matrix,
        right=np.concatenate(right),
        first=first,
        columns=numbers,
        offset=offset,
    )


def _below_best(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The scores less the highest of them; as they are where none is allowed."""
    best = scores.max()
    return scores - best if np.isfinite(best) else scores


def _own_scores(problem: LocalProblem) -> list[NDArray[np.float64]]:
    """The sum of the tables of one variable alone, for each variable."""
    own = [np.zeros(size) for size in problem.sizes]
    for scope, table in problem.tables:
        if len(scope) == 1:
            own[scope[0]] = own[scope[0]] + table
    return own


def solve_by_highs(problem: LocalProblem, start: NDArray[np.int64] | None, seconds: float) -> Answer:
    """What HiGHS finds within `seconds`, beginning from the allowed labelling `start`, if given."""
    import highspy

    program = make_program(problem)
    if not np.isfinite(program.offset):
        return Answer(None, -np.inf)
    unit = max(float(-program.gains.min(initial=0.0)), np.finfo(float).tiny * _LARGEST) / _LARGEST
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in {**_OPTIONS, "time_limit": float(seconds)}.items():
        solver.setOptionValue(name, value)
    solver.passModel(_make_model(program, unit))
    if start is not None:
        guess = highspy.HighsSolution()
        guess.col_value = _indicators(problem, program, start)
        solver.setSolution(guess)
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return Answer(None, -np.inf)
    if status not in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kTimeLimit):
        raise RuntimeError(f"HiGHS failed: {solver.modelStatusToString(status)}")
    bound = program.offset + unit * (float(solver.getInfo().mip_dual_bound) + _DOUBT)
    if solver.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return Answer(None, bound)
    chosen = np.array(solver.getSolution().col_value)[: program.first[-1]]
    values = np.array([part.argmax() for part in np.split(chosen, program.first[1:-1])], np.int64)
    return Answer(values, bound)


def _make_model(program: Program, unit: float) -> "highspy.HighsLp":
    """The programme as HiGHS takes it, with gains in multiples of `unit`; only the labels of nodes are integers."""
    import highspy

    n_rows, n_columns = program.matrix.shape
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = n_columns, n_rows
    model.sense_ = highspy.ObjSense.kMaximize
    model.col_cost_ = program.gains / unit
    model.col_lower_, model.col_upper_ = np.zeros(n_columns), program.upper
    model.row_lower_, model.row_upper_ = program.right, program.right
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = program.matrix.indptr
    model.a_matrix_.index_ = program.matrix.indices
    model.a_matrix_.value_ = program.matrix.data
    n_integer = int(program.first[-1])
    whole, part = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
    model.integrality_ = [whole] * n_integer + [part] * (n_columns - n_integer)
    return model


def _indicators(problem: LocalProblem, program: Program, y: NDArray[np.int64]) -> NDArray[np.float64]:
    """The feasible point of the program that stands for the values `y`."""
    point = np.zeros(len(program.gains))
    point[program.first[:-1] + y] = 1
    scopes = [scope for scope, _ in problem.tables if len(scope) > 1]
    for scope, columns in zip(scopes, program.columns, strict=True):
        point[columns[tuple(y[list(scope)])]] = 1
    return point
