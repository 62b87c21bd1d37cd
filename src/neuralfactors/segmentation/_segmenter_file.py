"""A segmenter on disk: features and estimators in one file, so that they are replaced in one step.

Of several files, a kill could leave the new one of one part beside the old one of another.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from sklearn.base import clone

from neuralfactors._common.files import FileFormatError
from neuralfactors._common.persistence import State, load_model, readable, save_model, tensors_digest
from neuralfactors.estimators import StructuredEstimator
from neuralfactors.estimators._saving import to_document
from neuralfactors.segmentation._describer import Describer
from neuralfactors.segmentation._fine_tuning import with_network
from neuralfactors.vision._builder import BuilderOptions
from neuralfactors.vision._tuned_backbone import TunedBackbone

StrPath = str | os.PathLike[str]

KIND = "Segmenter"  # what its file calls itself
FEATURES, STAGES = "features", ("first", "model")  # the parts of the file; bifurcated training has both stages
# Blocks of a network that have learnt with this model; not among the features, which all models of a run share.
TUNED = "backbone"
LEARNT = "features_sha256"  # the digest of words and scaling, which may be in another folder
LEARNING = "learning"  # what another `fit` would go by
AGAIN = ("balance", "cost", "region_label", "mirror", "varied", "random_state")  # the parameters among that


def save_parts(
    path: StrPath,
    describer: Describer,
    stages: list[StructuredEstimator],
    learning: Mapping[str, Any],
    *,
    with_features: bool = True,
) -> None:
    """Write estimators, the state of `learning`, and unless they are kept elsewhere the features, into `path`."""
    parts: dict[str, State] = {FEATURES: describer.state()} if with_features else {}
    parts |= {TUNED: State({}, describer.tuned.learnt())} if describer.tuned else {}
    parts |= {name: stage.state() for name, stage in zip(STAGES[-len(stages) :], stages, strict=True)}
    documents = {part: document for part, (document, _) in parts.items()}
    tensors = {f"{part}.{name}": value for part, (_, own) in parts.items() for name, value in own.items()}
    digest = tensors_digest(describer.tensors())
    save_model(path, {"class": KIND, LEARNT: digest, LEARNING: learning, "parts": documents}, tensors)


def load_parts(
    path: StrPath, features: StrPath | None, describing: BuilderOptions, options: dict[str, Any]
) -> tuple[Describer, list[StructuredEstimator], dict[str, Any]]:
    """What `save_parts` wrote into `path`; the folder `features` is needed where it wrote none.

    The last are parameters of the segmenter, by which `fit` would learn as it has. `describing` are those of the
    `Describer`. Of `options`, each goes to the estimators whose part of the file lacks it; one that none lacks replaces
    what the file holds for the last.
    """
    document, tensors = load_model(path)
    if document.get("class") != KIND:
        raise FileFormatError(f"{path} contains a {document.get('class')!r}, not a {KIND}")
    with readable(path):
        known = document["parts"]
        parts: dict[str, State] = {part: State(known[part], {}) for part in (FEATURES, TUNED, *STAGES) if part in known}
        for key, value in tensors.items():
            part, _, name = key.partition(".")
            parts[part].tensors[name] = value
        if features is not None:
            describer = Describer.load(features, **describing)
        elif FEATURES in parts:
            describer = Describer.from_state(*parts[FEATURES], path, **describing)
        else:
            raise ValueError(f"{path} contains no features: pass the folder that does as features")
        if tensors_digest(describer.tensors()) != document[LEARNT]:
            raise FileFormatError(f"{features or path} contains other features than those that {path} was trained with")
        if TUNED in parts:
            network = TunedBackbone.of(describer.builder.settings, parts[TUNED].tensors)
            describer = with_network(describer, network)
        stages = _load_stages([parts[part] for part in STAGES if part in parts], path, options)
        return describer, stages, _learning_parameters(document.get(LEARNING, {}), stages)


def learning_state(segmenter: Any) -> dict[str, Any]:
    """What another `fit` goes by besides the features, as JSON can hold it; stages hold their parameters themselves."""
    parameters, _ = to_document({name: getattr(segmenter, name) for name in AGAIN})
    estimator = segmenter.estimator
    steps = [] if estimator is None else [step for _, step in getattr(estimator, "steps", [("", estimator)])]
    weighed = [getattr(step, "class_weight", None) is not None for step in steps]  # not by `balance`
    return {"parameters": parameters, "class_weight": weighed}


def _learning_parameters(learning: Mapping[str, Any], stages: list[StructuredEstimator]) -> dict[str, Any]:
    """The parameters of the segmenter that the `learning_state` is of."""
    found = {name: value for name, value in learning.get("parameters", {}).items() if name in AGAIN}
    steps: list[StructuredEstimator] = [clone(stage) for stage in stages]
    weighed = learning.get("class_weight", [])
    for step, own in zip(steps, weighed, strict=False):
        if not own and "class_weight" in step.get_params():
            step.set_params(class_weight=None)
    if weighed:
        found["estimator"] = steps[0] if len(steps) == 1 else _pipeline(steps)
    return found


def _pipeline(steps: list[StructuredEstimator]) -> Any:
    """The steps of bifurcated training, one after the other."""
    from sklearn.pipeline import make_pipeline  # here, since predictions do not wait for it otherwise

    return make_pipeline(*steps)


def _load_stages(states: list[State], path: StrPath, options: dict[str, Any]) -> list[StructuredEstimator]:
    lacking = [set(document["omitted"]) for document, _ in states]
    lacking[-1] |= options.keys() - set().union(*lacking)
    chosen = [{name: value for name, value in options.items() if name in names} for names in lacking]
    return [StructuredEstimator.from_state(*state, path, **given) for state, given in zip(states, chosen, strict=True)]
