"""Print how the code measures up to what CONTRIBUTING.md asks for; exit with 1 where it does not: make measure."""

import ast
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LONG, LARGE = 40, 350  # lines of a function without its docstring, and of a file
ALIKE = 8  # so many lines of code that occur twice are a duplicate
BLOCKS = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def lines_of(pattern: str, *folders: str) -> int:
    return sum(len(path.read_text().splitlines()) for folder in folders for path in (ROOT / folder).rglob(pattern))


def docstring_lines(node: ast.AST) -> int:
    if not isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)) or ast.get_docstring(node) is None:
        return 0
    return node.body[0].end_lineno - node.body[0].lineno + 1


def length(function: ast.FunctionDef) -> int:
    return function.end_lineno - function.lineno + 1 - docstring_lines(function)


def n_parameters(function: ast.FunctionDef) -> int:
    known = function.args
    names = [each.arg for each in (*known.posonlyargs, *known.args, *known.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def n_fields(node: ast.ClassDef) -> int:
    """How many parameters the constructor of a dataclass has for its own fields; 0 for other classes."""
    if not any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
        return 0
    annotated = [each for each in node.body if isinstance(each, ast.AnnAssign)]
    kept = [each for each in annotated if "ClassVar" not in ast.unparse(each.annotation)]
    return len([each for each in kept if each.value is None or "init=False" not in ast.unparse(each.value)])


def depth(node: ast.AST) -> int:
    """How many blocks are open at most inside `node`; an `elif` is not deeper than its `if`."""
    deepest = 0
    for child in ast.iter_child_nodes(node):
        chained = isinstance(node, ast.If) and node.orelse == [child] and isinstance(child, ast.If)
        if not isinstance(child, FUNCTIONS):
            deepest = max(deepest, depth(child) + (isinstance(child, BLOCKS) and not chained))
    return deepest


def code_lines(path: Path, tree: ast.Module) -> list[str]:
    """Lines without docstrings, comments, imports, blank lines and indentation."""
    left_out = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            left_out.update(range(node.lineno, node.end_lineno + 1))
        elif docstring_lines(node):
            left_out.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    numbered = enumerate((line.strip() for line in path.read_text().splitlines()), 1)
    return [line for number, line in numbered if line and not line.startswith("#") and number not in left_out]


def duplicates(files: dict[Path, list[str]]) -> Iterator[tuple[str, str]]:
    """Pairs of places with `ALIKE` or more equal lines of code; a longer stretch counts once."""
    places = defaultdict(list)
    for path, lines in files.items():
        for start in range(len(lines) - ALIKE + 1):
            places[tuple(lines[start : start + ALIKE])].append((path, start))
    pairs = {(a, b) for found in places.values() for k, a in enumerate(found) for b in found[k + 1 :]}
    for (path, start), (other, begin) in sorted(pairs):
        if ((path, start - 1), (other, begin - 1)) not in pairs:
            yield f"{path.relative_to(ROOT)}: {files[path][start]}", str(other.relative_to(ROOT))


def measure() -> tuple[list[tuple[str, float, str, float]], list[str]]:
    """Name, value, comparison and limit of every figure; and a line for each place that breaks one."""
    trees = {path: ast.parse(path.read_text()) for path in sorted((ROOT / "src").rglob("*.py"))}
    functions = [(path, node) for path, tree in trees.items() for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]
    lengths = [length(node) for _, node in functions]
    classes = [
        (path, node) for path, tree in trees.items() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    ]
    called = [(path, node, n_parameters(node)) for path, node in functions]
    called += [(path, node, n_fields(node)) for path, node in classes]
    inner = [each for each in called if "_cli" not in each[0].parts]
    sizes = {path: len(path.read_text().splitlines()) for path in trees}
    documented = sum(docstring_lines(node) for tree in trees.values() for node in ast.walk(tree))
    alike = list(duplicates({path: code_lines(path, tree) for path, tree in trees.items()}))
    tests = lines_of("*.py", "tests") / (sum(sizes.values()) + lines_of("*.?pp", "cpp"))
    figures = [
        (f"functions of more than {LONG} lines", sum(n > LONG for n in lengths), "≤", 0),
        ("lines of a function, median", statistics.median(lengths), "≤", 6),
        ("nesting, deepest", max(depth(node) for _, node in functions), "≤", 3),
        (f"files of more than {LARGE} lines", sum(n > LARGE for n in sizes.values()), "≤", 0),
        ("parameters, most, outside the command line", max(n for _, _, n in inner), "≤", 15),
        ("docstring lines per 100", 100 * documented / sum(sizes.values()), "≥", 25),
        (f"pairs of {ALIKE} equal lines or more", len(alike), "≤", 6),
        ("test : source", tests, "≥", 0.7),
    ]
    told = [f"{place(path)}: {n} lines" for path, n in sizes.items() if n > LARGE]
    told += [f"{place(path, node)}: {length(node)} lines" for path, node in functions if length(node) > LONG]
    told += [f"{place(path, node)}: nesting {depth(node)}" for path, node in functions if depth(node) > 3]
    told += [f"{place(path, node)}: {n} parameters" for path, node, n in inner if n > 15]
    return figures, told + [f"{one} … = {two}" for one, two in alike]


def place(path: Path, node: ast.FunctionDef | ast.ClassDef | None = None) -> str:
    name = "" if node is None else f":{node.lineno} {node.name}"
    return f"{path.relative_to(ROOT)}{name}"


def main() -> int:
    figures, told = measure()
    good = True
    for name, value, sign, limit in figures:
        holds = value <= limit if sign == "≤" else value >= limit
        good &= holds
        print(f"{name:45s} {value:7.3g}   {sign} {limit:<4g} {'' if holds else 'missed'}")
    if "--places" in sys.argv[1:]:
        print("", *told, sep="\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
