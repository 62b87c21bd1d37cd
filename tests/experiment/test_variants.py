"""Variants: what each row of the paper's tables is made of."""

from sklearn.pipeline import Pipeline

from neuralfactors._experiment import VARIANTS, build_model
from neuralfactors._runs import TABLED, RunConfig
from neuralfactors.estimators import CuttingPlaneSVM, StructuralSVM, UnaryClassifier
from neuralfactors.segmentation._defaults import WITH_CNN


def build(row, **changes):
    return VARIANTS[row].build(21, 60, changes)


def test_rows_are_those_of_the_paper():
    assert TABLED == ("unary", "CP", "SGD", "int+lin", "bif+nrl", "int+nrl", "int+lin-dagger", "3-layer")
    assert set(VARIANTS) == {*TABLED, "neural-factors"}
    assert isinstance(build("unary"), UnaryClassifier)
    hidden = {row: build(row) for row in ("int+lin", "int+nrl", "int+lin-dagger", "3-layer")}
    found = {row: (model.part("unary").hidden, model.part("interaction").hidden) for row, model in hidden.items()}
    assert found == {
        "int+lin": ((256,), ()),
        "int+nrl": ((256,), (512,)),
        "int+lin-dagger": ((21,), ()),
        "3-layer": ((256, 256, 256), (512, 512, 512)),
    }
    for row, kind, units in (
        ("CP", CuttingPlaneSVM, None),
        ("SGD", StructuralSVM, ()),
        ("bif+nrl", StructuralSVM, (512,)),
    ):
        model = build(row)
        assert isinstance(model, Pipeline)
        assert isinstance(model[0], UnaryClassifier)
        assert isinstance(model[1], kind)
        assert model[1].plain_params().get("interaction__hidden") == units
        assert model[1].plain_params().get("unary__hidden", ()) == ()


def test_changes_reach_the_estimators():
    model = build("SGD", C=7.0, first__C=3.0)
    assert (model[0].C, model[1].C) == (3.0, 7.0)
    both = RunConfig("x", ("SGD", "int+nrl"), parameters={"*": {"first__C": 3.0}})
    assert build_model("SGD", both, 3, 60)[0].C == 3.0
    assert build_model("int+nrl", both, 3, 60).C == build("int+nrl").C
    common = RunConfig(
        "x", ("CP", "unary"), parameters={"*": {"trainer__learning_rate": 0.5, "C": 2.0}, "CP": {"C": 4.0}}
    )
    assert build_model("CP", common, 3, 60)[1].C == 4.0  # and no learning rate, which it does not have
    assert build_model("unary", common, 3, 60).trainer.learning_rate == 0.5


def test_cnn_features_have_settings_of_their_own():
    config = RunConfig("x", ("int+nrl", "SGD"), features={"features": "bow+cnn"})
    chosen = build_model("int+nrl", config, 3, 60).get_params()
    assert {name: chosen[name] for name in WITH_CNN} == WITH_CNN
    for other in (build_model("SGD", config, 3, 60)[1], build_model("int+nrl", RunConfig("x"), 3, 60)):
        assert other.part("unary").dropout == other.part("interaction").dropout == 0.0
    assert build_model("int+lin", config, 3, 60).interaction.hidden == ()  # what makes it this row
    assert build_model("3-layer", config, 3, 60).interaction.hidden == (512,) * 3
