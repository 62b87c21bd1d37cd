import ast
import importlib
import importlib.metadata
import importlib.resources
import inspect
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from environments import install

import neuralfactors

ROOT = Path(__file__).parents[1]


def run_python(code):
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    return result.stdout.strip()


def test_version_is_that_of_the_distribution():
    assert neuralfactors.__version__ == importlib.metadata.version("neuralfactors")


def test_public_names_exist_and_are_listed():
    for name in neuralfactors.__all__:
        assert getattr(neuralfactors, name).__name__ == name
        assert name in dir(neuralfactors)


def public_entries():
    """Every class and function of the package that has no underscore, commands apart: they have an option a switch."""
    for found in pkgutil.walk_packages(neuralfactors.__path__, "neuralfactors."):
        if found.name.endswith("_kernels") or "._cli" in found.name:
            continue
        module = importlib.import_module(found.name)
        for entry in vars(module).values():
            own = callable(entry) and entry.__module__ == found.name and not entry.__name__.startswith("_")
            if own and not (inspect.isclass(entry) and issubclass(entry, (Exception, dict))):  # nor typed dictionaries
                yield entry


def test_nothing_public_has_more_than_15_parameters():
    entries = list(public_entries())
    assert len(entries) > 250
    for entry in entries:
        methods = [m for n, m in vars(entry).items() if inspect.isfunction(m) and not n.startswith("_")]
        for function in (entry, *methods) if inspect.isclass(entry) else (entry,):
            assert len([name for name in inspect.signature(function).parameters if name != "self"]) <= 15, function


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'slove'"):
        _ = neuralfactors.slove


@pytest.mark.parametrize("module", ["neuralfactors", "neuralfactors.inference"])
def test_import_does_not_import_torch(module):
    assert run_python(f"import sys, {module}; print('torch' in sys.modules)") == "False"


def test_package_is_typed_and_the_stub_describes_the_kernel():
    from neuralfactors.inference import _kernels

    package = importlib.resources.files("neuralfactors")
    assert package.joinpath("py.typed").is_file()
    stub = ast.parse(package.joinpath("inference", "_kernels.pyi").read_text())
    described = {node.name for node in stub.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    described |= {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)}
    assert described
    assert described == {name for name in vars(_kernels) if not name.startswith("_")}


def lint_imports(folder):
    """Exit code and output of the import linter on the package `sample` in `folder`, held to the rules of this one."""
    rules = (ROOT / "pyproject.toml").read_text().replace("neuralfactors", "sample")
    (folder / "pyproject.toml").write_text(rules)
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    return result.returncode, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("inference/_upward.py", "import sample._cli"),
        ("inference/_torch.py", "import torch"),
        ("_runs/_sklearn.py", "import sklearn"),
        ("_report/_scipy.py", "import scipy.stats"),
        ("_core/graph.py", "import sample._core.potentials"),
        ("no_room.py", ""),
    ],
)
def test_the_rooms_hold(tmp_path, source, line):
    package = tmp_path / "sample"
    for room in ("inference", "_core", "_report", "_runs"):
        (package / room).mkdir(parents=True)
        (package / room / "__init__.py").touch()
    for name in ("__init__.py", "_cli.py", "_core/graph.py", "_core/potentials.py"):
        (package / name).touch()
    code, output = lint_imports(tmp_path)
    assert code == 0, output
    (package / source).write_text(line)
    code, output = lint_imports(tmp_path)
    assert code == 1, output
    assert "1 broken" in output


@pytest.mark.skipif(shutil.which("nm") is None, reason="nm is not installed")
def test_instruction_sets_share_no_code():
    """A weak symbol of the AVX2 object could replace the one that other machines run."""
    objects = [*ROOT.glob("build/editable-*/CMakeFiles/message_kernels_avx2.dir/cpp/*/*.o")]
    if not objects:
        pytest.skip("not a developer's build for x86-64")
    for path in objects:
        symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines()
        assert not [line for line in symbols if line.split()[-2] in "WVu"]


@pytest.mark.parametrize("folder", ["", "no/such/folder"])
def test_tests_on_absent_data_are_skipped_with_a_reason(tmp_path, folder):
    (tmp_path / "test_data.py").write_text(
        "import pytest\n@pytest.mark.realdata\ndef test_it(data_dir): assert data_dir"
    )
    command = [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "-p", "conftest", "-rs", tmp_path]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests"), "NEURALFACTORS_DATA": folder}
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout
    assert "realdata: NEURALFACTORS_DATA" in result.stdout
    assert "1 skipped" in result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel that `make release-check` has built, or one of the sources as they are."""
    if built := os.environ.get("NEURALFACTORS_WHEEL"):
        return Path(built)
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, ROOT], check=True, timeout=300)
    (path,) = folder.glob("*.whl")
    return path


def test_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    package = {name for name in names if name.startswith("neuralfactors/")}
    sources = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    kernels = {name for name in package if Path(name).name.startswith("_kernels.")}
    assert {Path(name).suffix for name in kernels} == {".so", ".pyi"}
    assert sources | kernels | {"neuralfactors/py.typed"} <= package
    assert {Path(name).suffix for name in package - kernels} <= {".py", ".typed", ".html", ".css", ".js", ".json"}
    assert {name.split("/")[0].split("-")[0] for name in names} == {"neuralfactors"}


def test_wheel_works_without_the_sources(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    path = [str(tmp_path), *(entry for entry in sys.path if "-packages" in entry)]
    code = f"""
import sys
sys.path += {path}
import numpy as np
from neuralfactors.inference import _kernels, solve
print(_kernels.__file__)
print(solve(np.array([[0.0, 1.0], [0.2, 0.0]]), np.eye(2)[None], np.array([[0, 1]])).status)
"""
    # -S: no path files, hence no editable install
    result = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    file, status = result.stdout.split()
    assert Path(file).is_relative_to(tmp_path)
    assert status == "optimal"


def solve_door(environment, folder):
    code = """
import numpy as np
from neuralfactors import grid_edges, solve
print(solve(np.eye(4), np.eye(4), grid_edges(2, 2)).status)
"""
    assert environment.run(environment.bin / "python", "-c", code, cwd=folder).stdout == "optimal\n"
    (folder / "problem.uai").write_text("MARKOV 2\n2 2\n1\n2 0 1\n4\n1 2 3 4\n")
    result = environment.run(environment.bin / "neuralfactors", "solve", folder / "problem.uai")
    assert "labels:  1 1\n" in result.stdout


def learn_door(environment, folder):
    code = """
import torch
from neuralfactors import Potentials, StructuralSVM, StructuredHingeLoss
table = torch.zeros(2, 2, requires_grad=True)
StructuredHingeLoss()(Potentials.chain(torch.zeros(1, 3, 2), table), torch.tensor([[0, 0, 1]])).backward()
assert table.grad.abs().sum() > 0
from neuralfactors.datasets import make_synergy
X, Y = make_synergy(10, random_state=0)
svm = StructuralSVM((4,), (4,), max_iter=2, verbose=1).fit(X, Y)
svm.save("model")
print(StructuralSVM.load("model").score(X, Y))
"""
    assert 0 <= float(environment.run(environment.bin / "python", "-c", code, cwd=folder).stdout) <= 1


def segment_door(environment, folder):
    code = (
        f"from neuralfactors.datasets import write_scenes; write_scenes({str(folder / 'scenes')!r}, 6, shape=(48, 64))"
    )
    environment("-c", code)
    program, run = environment.bin / "neuralfactors", folder / "run"
    options = ("--out", run, "--regions", 20, "--epochs", 1, "--cache", folder / "cache", "--quiet")
    environment.run(program, "train", folder / "scenes", *options)
    environment.run(program, "predict", run, folder / "scenes" / "images", "--out", folder / "maps")
    environment.run(program, "report", run)
    assert len([*(folder / "maps").glob("*.png")]) == 6
    assert (run / "report.html").is_file()


def told(environment, name):
    """The last line of what Python says when `name`, or a module, is imported from the package."""
    words = "import neuralfactors." if name.islower() else "from neuralfactors import "
    return environment("-c", f"{words}{name}", check=False).stderr.strip().splitlines()[-1]


DOORS = {"": solve_door, "learn": learn_door, "segment": segment_door}
# A package of each layer, and the extras that bring it.
LAYERS = {"torch": ("learn", "segment"), "PIL": ("segment",), "typer": ("segment",), "matplotlib": (), "highspy": ()}


@pytest.fixture(scope="module", params=DOORS)
def installed(request, wheel, tmp_path_factory):
    """An extra, and an environment with the wheel and what this extra brings."""
    return request.param, install(wheel, [request.param], tmp_path_factory.mktemp("environment"))


def test_each_extra_brings_what_its_door_needs(installed, tmp_path):
    extra, environment = installed
    DOORS[extra](environment, tmp_path)


def test_each_extra_brings_no_more_than_its_layer(installed):
    extra, environment = installed
    code = f"import importlib.util; print([n for n in {[*LAYERS]} if importlib.util.find_spec(n)])"
    assert environment("-c", code).stdout.strip() == str([name for name, extras in LAYERS.items() if extra in extras])


def test_a_missing_extra_is_one_sentence_with_the_command(installed):
    extra, environment = installed
    sentence = (
        r"ModuleNotFoundError: (learning|neuralfactors\.\w+) needs the package \w+: pip install 'neuralfactors\[%s\]'"
    )
    if extra == "":
        for name in ("StructuralSVM", "Graph", "Factor", "learning", "estimators"):
            assert re.fullmatch(sentence % "learn", told(environment, name))
    if extra != "segment":
        for name in ("Segmenter", "segmentation", "vision", "datasets._images"):
            assert re.fullmatch(sentence % "segment", told(environment, name))
        result = environment.run(environment.bin / "neuralfactors", "train", "photos", check=False)
        told_by_command = (
            "Error: every command but solve and doctor needs the package typer: pip install 'neuralfactors[segment]'\n"
        )
        assert result.stderr == told_by_command
        assert result.returncode == 1
