"""Tests mirror the source: src/neuralfactors/ROOM/x.py is tested by tests/ROOM/test_x.py, private or not."""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "neuralfactors"

# Modules without a file of their own, and where their behaviour is tested.
ELSEWHERE = {
    "__init__.py": "test_package.py",
    "__main__.py": "test_main.py",
    "_cli/__init__.py": "cli/test_app.py",
    "_cli/commands.py": "cli/test_app.py",
    "datasets/__init__.py": "common/test_extras.py",
    "_common/parameters.py": "runs/test_documents.py",
    "_experiment/presets/__init__.py": "experiment/test_presets.py",
}

# Tests of what no single module does.
TOPICS = {
    # the project itself
    "test_benchmarks.py", "test_docs.py", "test_examples.py", "test_main.py", "test_mirror.py", "test_package.py",
    "test_site.py", "report/test_claims_page.py", "report/test_docs_results.py", "report/test_inference_page.py",
    # C++ kernels, and what all methods of inference have in common
    "inference/test_alpha_expansion.py", "inference/test_maxflow.py", "vision/test_kernels.py",
    "inference/test_anytime.py", "inference/test_batch.py", "inference/test_certificates.py",
    "inference/test_claims.py", "inference/test_factor_search.py", "inference/test_fuzz.py",
    "inference/test_higher_order.py", "inference/test_invariance.py", "inference/test_shared_table.py",
    "inference/formats/test_damage.py",
    # what all learners have in common
    "estimators/test_buffers.py", "estimators/test_checks.py", "estimators/test_continuing.py",
    "estimators/test_defaults.py", "estimators/test_dropout.py", "estimators/test_model.py",
    "estimators/test_node_types.py", "estimators/test_own_loss.py", "estimators/test_pretraining.py",
    "estimators/test_sample_weight.py",
    "estimators/test_realdata.py",
    # from pictures to label maps and pages
    "cli/test_extras.py", "cli/test_many_classes.py", "cli/test_startup.py", "experiment/test_presets.py",
    "report/test_browser.py", "segmentation/test_fine.py", "segmentation/test_real_images.py",
    "segmentation/test_any_pictures.py",
    "segmentation/test_own_features.py", "segmentation/test_own_regions.py", "segmentation/test_small_sets.py",
    "segmentation/test_scribbles.py", "vision/test_real_images.py",
}  # fmt: skip


def modules():
    """Paths of all modules below the package; an `__init__.py` counts where it does more than to gather names."""
    for path in sorted(SOURCE.rglob("*.py")):
        code = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith(("def ", "class "))]
        if path.name != "__init__.py" or code:
            yield path.relative_to(SOURCE).as_posix()


def home_of(module):
    """Where the tests of a module stand."""
    *rooms, name = (part.lstrip("_") for part in Path(module).parts)
    return ELSEWHERE.get(module, "/".join([*rooms, f"test_{name}"]))


@pytest.mark.parametrize("module", list(modules()))
def test_every_module_has_its_tests(module):
    path = TESTS / home_of(module)
    assert path.is_file(), f"{module} has no tests: they belong into tests/{home_of(module)}"
    assert "def test_" in path.read_text(encoding="utf-8")


def test_every_file_of_tests_has_its_module_or_is_about_a_topic():
    found = {path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    strays = found - {home_of(module) for module in modules()} - TOPICS
    assert not strays, f"of which module are these the tests? {sorted(strays)}"


def test_exceptions_are_still_needed():
    assert [name for name in ELSEWHERE if not (SOURCE / name).is_file()] == []
    assert [name for name in TOPICS if not (TESTS / name).is_file()] == []
