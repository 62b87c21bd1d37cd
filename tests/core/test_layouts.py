"""Chains and grids against loops over steps and pixels; labels there and back."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from neuralfactors import Potentials, StructuredHingeLoss, decode
from neuralfactors._core.layouts import Layout


def random_chain(seed, n_labels=3, lengths=(4, 1, 0, 2), n_steps=4, own=False):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(shape, dtype=torch.float64, generator=generator)

    shape = (len(lengths), max(n_steps - 1, 0), n_labels, n_labels) if own else (n_labels, n_labels)
    mask = torch.arange(n_steps) < torch.tensor(lengths)[:, None]
    return draw(len(lengths), n_steps, n_labels), draw(*shape), mask, draw(n_labels), draw(n_labels)


def chain_score(emissions, transitions, length, y, start, end):
    """The score of one sequence, step by step."""
    total = sum((emissions[t, y[t]] for t in range(length)), emissions.new_zeros(()))
    for t in range(1, length):
        table = transitions if transitions.ndim == 2 else transitions[t - 1]
        total = total + table[y[t - 1], y[t]]
    return total + start[y[0]] + end[y[length - 1]] if length else total


@given(
    seed=st.integers(0, 2**16),
    lengths=st.lists(st.integers(0, 4), min_size=1, max_size=4),
    n_labels=st.integers(1, 3),
    own=st.booleans(),
)
def test_chain_scores_are_those_of_its_steps(seed, lengths, n_labels, own):
    emissions, transitions, mask, start, end = random_chain(seed, n_labels, lengths, own=own)
    chain = Potentials.chain(emissions, transitions, mask, start, end)
    y = torch.randint(n_labels, mask.shape, generator=torch.Generator().manual_seed(seed))
    expected = [
        chain_score(emissions[b], transitions[b] if own else transitions, n, y[b], start, end)
        for b, n in enumerate(lengths)
    ]
    torch.testing.assert_close(chain.score(chain.layout.flatten(y)), torch.stack(expected))
    assert (chain.unflatten(chain.layout.flatten(y)) == y.masked_fill(~mask, -1)).all()


@pytest.mark.parametrize("own", [False, True])
def test_decode_finds_the_best_sequence_in_its_shape(own):
    lengths = (4, 1, 0, 3)
    emissions, transitions, mask, start, end = random_chain(0, lengths=lengths, own=own)
    labels = decode(Potentials.chain(emissions, transitions, mask, start, end))
    assert (labels == -1).eq(~mask).all()
    for b, n in enumerate(lengths):
        parts = emissions[b], transitions[b] if own else transitions
        best = max(itertools.product(range(3), repeat=n), key=lambda y, p=parts, n=n: chain_score(*p, n, y, start, end))
        assert labels[b, :n].tolist() == list(best)


def test_without_a_mask_all_steps_count():
    emissions, transitions, _, start, end = random_chain(1)
    whole = Potentials.chain(emissions, transitions, torch.ones(4, 4), start, end)
    plain = Potentials.chain(emissions, transitions, None, start, end)
    for one, other in zip(whole.__dict__.values(), plain.__dict__.values(), strict=True):
        assert not isinstance(one, torch.Tensor) or torch.equal(one, other)


@pytest.mark.filterwarnings("ignore::UserWarning:torchcrf")
def test_chains_decode_as_those_of_pytorch_crf():
    crf = pytest.importorskip("torchcrf", reason="pytorch-crf is not installed").CRF(5, batch_first=True)
    torch.manual_seed(0)
    emissions, mask = torch.randn(4, 7, 5), torch.arange(7) < torch.tensor([7, 1, 4, 6])[:, None]
    chain = Potentials.chain(emissions, crf.transitions, mask, crf.start_transitions, crf.end_transitions)
    labels = decode(chain)
    assert [row[row >= 0].tolist() for row in labels] == crf.decode(emissions, mask)
    y = torch.randint(5, mask.shape)
    contrast = chain.score(chain.layout.flatten(y)) - chain.score(chain.layout.flatten(labels))
    likelihoods = [crf(emissions, tags, mask, reduction="none") for tags in (y, labels.clamp_min(0))]
    torch.testing.assert_close(contrast, likelihoods[0] - likelihoods[1])


@pytest.mark.parametrize(("n_chains", "n_steps"), [(0, 3), (2, 0), (0, 0), (1, 1), (2, 1)])
def test_empty_and_single_steps(n_chains, n_steps):
    emissions = torch.zeros(n_chains, n_steps, 2)
    chain = Potentials.chain(emissions, torch.eye(2), start=torch.tensor([0.0, 1.0]), end=torch.zeros(2))
    assert (chain.n_graphs, len(chain.edges)) == (n_chains, 0)
    assert decode(chain).tolist() == [[1] * n_steps] * n_chains


@pytest.mark.parametrize("own", [False, True])
def test_gradients_of_a_chain(own):
    emissions, transitions, mask, start, end = random_chain(2, own=own)
    y = torch.randint(3, mask.shape, generator=torch.Generator().manual_seed(0))
    loss = StructuredHingeLoss(reduction="sum")

    def hinge(*parts):
        return loss(Potentials.chain(*parts[:2], mask, *parts[2:]), y)

    assert torch.autograd.gradcheck(hinge, [p.requires_grad_() for p in (emissions, transitions, start, end)])


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64])
@pytest.mark.parametrize("void", ["drop", "complete"])
def test_labels_of_any_integer_type_and_padding(dtype, void):
    emissions, transitions, mask, start, end = random_chain(3)
    chain = Potentials.chain(emissions, transitions, mask, start, end)
    y = torch.randint(3, mask.shape, generator=torch.Generator().manual_seed(0))
    loss = StructuredHingeLoss(void=void)
    expected = loss(chain, chain.layout.flatten(y))
    assert loss(chain, y.to(dtype)) == expected
    if dtype != torch.uint8:
        for padding in (-1, -100):
            assert loss(chain, y.masked_fill(~mask, padding).to(dtype)) == expected
        void_inside = y.clone()
        void_inside[0, 2] = -1
        assert loss(chain, void_inside) == loss(chain, torch.where(void_inside == -1, -100, void_inside).to(dtype))


def grid_score(unary, tables, y):
    """The score of one picture, pixel by pixel; tables are by the step (down, right)."""
    height, width, _ = unary.shape
    total = unary.new_zeros(())
    for i, j in itertools.product(range(height), range(width)):
        total = total + unary[i, j, y[i, j]]
        for (down, right), table in tables.items():
            k, m = i + down, j + right
            if k < height and 0 <= m < width:
                own = table if table.ndim == 2 else table[i, min(j, m)]
                total = total + own[y[i, j], y[k, m]]
    return total


STEPS = {"horizontal": (0, 1), "vertical": (1, 0), "diagonal": (1, 1), "antidiagonal": (1, -1)}


@given(
    seed=st.integers(0, 2**16),
    shape=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    neighbours=st.sampled_from([4, 8]),
    own=st.booleans(),
)
def test_grid_scores_are_those_of_its_pixels(seed, shape, neighbours, own):
    generator = torch.Generator().manual_seed(seed)
    (height, width), n_labels = shape, 2
    names = list(STEPS)[: neighbours // 2]
    tables = {}
    for name in names:
        down, right = STEPS[name]
        pairs = (2, height - down, width - abs(right)) if own else ()
        tables[name] = torch.randn(*pairs, n_labels, n_labels, dtype=torch.float64, generator=generator)
    unary = torch.randn(2, height, width, n_labels, dtype=torch.float64, generator=generator)
    y = torch.randint(n_labels, (2, height, width), generator=generator)
    expected = []
    for b in range(2):
        mine = {STEPS[name]: table[b] if own else table for name, table in tables.items()}
        expected.append(grid_score(unary[b], mine, y[b]))
        alone = Potentials.grid(unary[b], **{name: table[b] if own else table for name, table in tables.items()})
        torch.testing.assert_close(alone.score(y[b].reshape(-1)), expected[b][None])
        assert decode(alone).shape == (height, width)
    grid = Potentials.grid(unary, **tables)
    torch.testing.assert_close(grid.score(grid.layout.flatten(y)), torch.stack(expected))
    assert torch.equal(grid.unflatten(y.reshape(-1)), y)


def test_one_table_serves_all_directions_without_a_copy():
    table = torch.randn(3, 3)
    unary = torch.randn(4, 5, 3)
    grid = Potentials.grid(unary, table, diagonal=table)
    assert len(grid.interaction) == 1
    copied = Potentials.grid(unary, table, table.clone(), diagonal=table)
    assert len(copied.interaction) == len(copied.edges) == 4 * 4 + 3 * 5 + 2 * 3 * 4
    assert torch.equal(decode(grid), decode(copied))


def test_gradients_of_a_grid():
    unary, tables = torch.randn(2, 2, 3, 2, dtype=torch.float64), torch.randn(4, 2, 2, dtype=torch.float64)
    y = torch.randint(2, (2, 2, 3))
    loss = StructuredHingeLoss(reduction="sum")

    def hinge(unary, *tables):
        return loss(Potentials.grid(unary, *tables[:2], diagonal=tables[2], antidiagonal=tables[3]), y)

    assert torch.autograd.gradcheck(hinge, [p.clone().requires_grad_() for p in (unary, *tables)])


def test_layout_without_gaps_only_reshapes():
    assert Layout((2, 2)).unflatten(torch.arange(4)).tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"emissions": [[[0.0, 1.0]]]}, "emissions must be a tensor, got list"),
        ({"emissions": torch.zeros(2, 3)}, r"emissions must have shape \(B, T, L\), got \(2, 3\)"),
        (
            {"transitions": torch.zeros(3, 2)},
            r"transitions must be a tensor of shape \(2, 2\) or \(2, 2, 2, 2\), got \(3, 2\)",
        ),
        ({"mask": torch.ones(2, 2)}, r"mask must be a tensor of shape \(2, 3\), got \(2, 2\)"),
        ({"mask": torch.tensor([[1, 0, 1], [1, 1, 1]])}, "mask must be true for the first steps of every sequence"),
        ({"start": torch.zeros(3)}, r"start must be a tensor of shape \(2,\), got \(3,\)"),
        ({"end": [0.0, 0.0]}, r"end must be a tensor of shape \(2,\), got list"),
    ],
)
def test_bad_chains_are_refused(arguments, message):
    good = {"emissions": torch.zeros(2, 3, 2), "transitions": torch.eye(2)}
    with pytest.raises(ValueError, match=message):
        Potentials.chain(**{**good, **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"unary": torch.zeros(2, 3)}, r"unary must have shape \(H, W, L\) or \(B, H, W, L\), got \(2, 3\)"),
        (
            {"vertical": torch.zeros(2, 3)},
            r"vertical must be a tensor of shape \(2, 2\) or \(2, 4, 2, 2\), got \(2, 3\)",
        ),
        ({"antidiagonal": torch.eye(2)}, "antidiagonal needs a diagonal"),
    ],
)
def test_bad_grids_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Potentials.grid(**{"unary": torch.zeros(3, 4, 2), "horizontal": torch.eye(2), **arguments})
