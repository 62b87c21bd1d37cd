"""UAI files become problems whose scores are the logarithms of the product of the tables."""

import bz2
import gzip
import json
import lzma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problem_files import SMALL_UAI, FactorList, assert_same, problem_score, random_factors, solve_by_toulbar2

from neuralfactors.inference import read_uai, solve


def random_tables(rng):
    def draw(shape):
        return np.where(rng.random(shape) < 0.1, 0.0, rng.random(shape) * 10.0 ** rng.integers(-3, 4))

    return draw


@given(seed=st.integers(0, 2**32 - 1))
def test_every_labelling_scores_the_logarithm_of_its_product(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    truth = random_factors(rng, random_tables(rng), max_order=4)
    path = tmp_path_factory.mktemp("uai") / "random.uai"
    path.write_text(truth.uai("MARKOV" if seed % 2 else "BAYES"))
    problem = read_uai(path)
    assert [len(row) for row in problem.unary] == truth.sizes
    for y in truth.labellings():
        assert problem_score(problem, y) == pytest.approx(truth.log_product(y), abs=1e-9)
    best = max(truth.log_product(y) for y in truth.labellings())
    result = solve(*problem, method="exhaustive")
    assert result.score == pytest.approx(best, abs=1e-9)
    assert result.status == ("infeasible" if best == -np.inf else "optimal")


def test_every_node_has_its_own_labels(write):
    unary, interaction, edges, factors = read_uai(write(SMALL_UAI))
    for row, expected in zip(unary, ([np.log(0.3), np.log(0.7)], [0, 0, 0], [0, 0]), strict=True):
        np.testing.assert_allclose(row, expected)
    (table,) = interaction
    np.testing.assert_allclose(table, [[0, np.log(2)], [np.log(3), np.log(4)], [np.log(5), -np.inf]])
    assert edges.tolist() == [[1, 2]]
    assert factors == []


def test_factors_over_one_pair_are_one_edge_whatever_their_orientation(write):
    first, again = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([[10.0, 20.0], [30.0, 40.0], [50.0, 60.0]])
    loose = np.ones((3, 2))
    truth = FactorList([2, 3, 2], [((0, 1), first), ((1, 2), loose), ((1, 0), again), ((0, 1), first)])
    problem = read_uai(write(truth.uai()))
    assert problem.edges.tolist() == [[0, 1], [1, 2]]
    np.testing.assert_allclose(problem.interaction[0], np.log(first * first * again.T))


def test_constants_count(write):
    problem = read_uai(write("MARKOV 2 2 2 2 0 0 1 0.5 1 0.25"))
    assert solve(*problem).score == pytest.approx(np.log(0.125))
    assert solve(*read_uai(write("MARKOV 1 2 1 0 1 0"))).status == "infeasible"


def test_comments_are_skipped(write):
    commented = "c by hand\nc\n" + SMALL_UAI.replace("2\n1 0\n", "c factors\n2\n1 0\n")
    assert_same(read_uai(write(commented)), read_uai(write(SMALL_UAI)))


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, bz2.compress])
def test_compression_shows_in_the_bytes(write, compress):
    path = write(compress(SMALL_UAI.encode()), "problem.data")
    assert_same(read_uai(path), read_uai(write(SMALL_UAI)))


def test_toulbar2_finds_the_same_optimum(write):
    pytest.importorskip("pytoulbar2")
    rng = np.random.default_rng(0)
    truths = [random_factors(rng, lambda shape: 0.1 + rng.random(shape)) for _ in range(30)]
    paths = [write(truth.uai(), f"{k}.uai") for k, truth in enumerate(truths)]
    for truth, path, (labels, _) in zip(truths, paths, solve_by_toulbar2(paths), strict=True):
        score = solve(*read_uai(path), method="exhaustive").score
        assert score == pytest.approx(truth.log_product(labels), abs=1e-4)  # toulbar2 rounds logarithms


@pytest.mark.realdata
@pytest.mark.parametrize(
    "name", ["Segmentation/2_28_s.21", "Segmentation/5_3_s.binary", "scene/0000047", "scene/0000759"]
)
def test_public_problems_have_their_known_optimum(data_dir, name):
    known = json.loads((data_dir / "uai" / "best.json").read_text())[name]
    result = solve(*read_uai(data_dir / "uai" / f"{name}.uai.gz"), method="exact")
    assert known["proved"]
    assert result.status == "optimal"
    assert result.score == pytest.approx(known["best"], rel=1e-9)


@pytest.mark.realdata
def test_all_public_problems_are_read(data_dir):
    for path in sorted((data_dir / "uai").glob("*/*.uai.gz")):
        problem = read_uai(path)
        assert len(problem.unary) > 0
        assert not any(np.isnan(table).any() for table in (*problem.unary, *problem.interaction))


def test_what_is_too_small_for_a_float_is_not_forbidden(tmp_path):
    path = tmp_path / "small.uai"
    path.write_text(f"MARKOV 1  3  1  1 0  3  1e-400 0.{'0' * 399}2 0e-500")
    expected = np.array([[-400.0, -400.0, -np.inf]]) * np.log(10) + [[0.0, np.log(2), 0.0]]
    np.testing.assert_allclose(read_uai(path).unary, expected, rtol=1e-15)
