"""Where a search looks: dimensions of each row, and the plan of its trials."""

import pytest

from neuralfactors._experiment import build_model
from neuralfactors._experiment.tuning.space import Dimension, Plan, dimensions
from neuralfactors._runs import RunConfig


def searched(variant, **parameters):
    config = RunConfig("x", (variant,), parameters={variant: parameters})
    return [dimension.name for dimension in dimensions(build_model(variant, config, 5, 60), 0.0)]


def test_every_row_is_searched_where_it_has_something_to_search():
    assert searched("CP") == ["C", "balance"]
    assert searched("unary") == ["C", "trainer__learning_rate", "balance"]
    both = ["C", "interaction_C", "trainer__learning_rate", "trainer__interaction_learning_rate", "balance"]
    assert searched("int+nrl") == searched("SGD") == both
    paper = searched("int+lin", trainer__optimizer="sgd", trainer__schedule="inverse")
    assert paper == [
        *both[:-1],
        *(f"trainer__{name}" for name in ("t0", "momentum", "interaction_momentum")),
        "balance",
    ]


def test_names_choose_what_is_searched():
    model = build_model("int+nrl", RunConfig("x"), 5, 60)
    assert [d.name for d in dimensions(model, 0.0, ("unary__dropout", "C"))] == ["unary__dropout", "C"]
    with pytest.raises(ValueError, match=r"search must name some of C, .*, interaction__dropout, got 't0'"):
        dimensions(model, 0.0, ("t0",))
    automatic = build_model(
        "int+nrl", RunConfig("x", parameters={"int+nrl": {"trainer__learning_rate": "auto"}}), 5, 60
    )
    with pytest.raises(ValueError, match="trainer__learning_rate must be a number to search around, got 'auto'"):
        dimensions(automatic, 0.0)


@pytest.mark.parametrize(
    ("dimension", "ends"),
    [
        (Dimension("C", 0.01, 100.0, 1.0), (0.01, 100.0)),
        (Dimension("balance", 0.0, 1.0, 0.25), (0.0, 1.0)),
        (Dimension("momentum", 0.01, 1.0, 0.9, mirrored=True), (0.99, 0.0)),
    ],
)
def test_dimension_goes_from_end_to_end_and_knows_its_place(dimension, ends):
    assert (dimension.value(0.0), dimension.value(1.0)) == pytest.approx(ends)
    assert dimension.value(dimension.place) == pytest.approx(dimension.now)
    assert Dimension("C", 0.01, 100.0, 1e9).place == 1.0


def test_plan_begins_with_the_present_settings_and_ends_close_to_the_best():
    space = dimensions(build_model("int+nrl", RunConfig("x"), 5, 60), 0.5)
    plan = Plan(space, 30, seed=3)
    assert plan.parameters(0) == {}
    assert [plan.stage(n) for n in (19, 20)] == ["coarse", "fine"]
    assert plan.parameters(7) == Plan(space, 30, seed=3).parameters(7) != Plan(space, 30, seed=4).parameters(7)
    for dimension in space:
        coarse = [plan.parameters(n)[dimension.name] for n in range(1, 20)]
        assert min(coarse) < dimension.now < max(coarse)
    best = plan.parameters(5)
    for n in range(20, 30):
        assert 0.1 < plan.parameters(n, 5)["C"] / best["C"] < 10  # a coarse draw may be a thousand times as much
        assert plan.parameters(n, 5) != best
    around_present = [plan.parameters(n, 0)["balance"] for n in range(20, 30)]
    assert 0.3 < sum(around_present) / 10 < 0.7


@pytest.mark.parametrize("seed", range(5))
def test_the_trials_of_a_small_search_do_not_lie_together(seed):
    plan = Plan([Dimension("balance", 0.0, 1.0, 0.25), Dimension("C", 0.01, 100.0, 1.0)], 9, seed)
    drawn = [plan.parameters(n) for n in range(1, 5)]
    assert sorted(int(4 * parameters["balance"]) for parameters in drawn) == [0, 1, 2, 3]
    assert len({round(parameters["C"], 1) for parameters in drawn}) > 2
