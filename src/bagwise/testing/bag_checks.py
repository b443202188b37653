"""The checks of estimators of bags; each is a function of an estimator that raises."""

import inspect
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import StackingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedGroupKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    permutation_test_score,
    train_test_split,
)

from bagwise.bags import Bags
from bagwise.io import save
from bagwise.io.trusted import OURS
from bagwise.testing.data import (
    OUTPUTS,
    ROUNDING,
    as_text,
    assert_refused,
    assert_same,
    classifier_with,
    draw_bags,
    draw_labels,
    fit,
    outputs,
)


def check_clone_keeps_parameters(estimator: Any) -> None:
    """A clone has the same parameters, and ``__init__`` stores what it is given."""
    before = estimator.get_params(deep=False)
    after = type(estimator)(**before).get_params(deep=False)
    assert before.keys() == after.keys()
    for name, value in before.items():
        assert after[name] is value, f"__init__ changes {name}: {value!r} becomes {after[name]!r}"
    assert repr(clone(estimator)) == repr(estimator)


def check_refit_equals_first_fit(estimator: Any) -> None:
    """A second fit forgets the first."""
    first, other = draw_bags(0), draw_bags(1)
    model = fit(estimator, other)
    model.fit(first, draw_labels())
    expected = outputs(fit(estimator, first), first)
    assert_same(outputs(model, first), expected, "differs after an earlier fit")


def check_order_of_points(estimator: Any) -> None:
    """The order of the points of a bag does not matter."""
    bags = draw_bags()
    rng = np.random.default_rng(0)
    shuffled = [rng.permutation(bag) for bag in bags]
    model = fit(estimator, bags)
    expected = outputs(model, bags)
    assert_same(outputs(model, shuffled), expected, "depends on the order of points", ROUNDING)


def check_order_of_bags(estimator: Any) -> None:
    """Bags in another order give outputs in that order."""
    bags = draw_bags()
    order = np.random.default_rng(0).permutation(len(bags))
    model = fit(estimator, bags)
    expected = {name: value[order] for name, value in outputs(model, bags).items()}
    got = outputs(model, [bags[b] for b in order])
    assert_same(got, expected, "depends on the order of bags", ROUNDING)


def check_bag_alone(estimator: Any) -> None:
    """A bag alone gives what it gives among few others or many, to ROUNDING."""
    bags = draw_bags(1, n_bags=50)
    model = fit(estimator, draw_bags())
    together = outputs(model, bags)
    for b in (0, 7, 49):
        expected = {name: value[b : b + 1] for name, value in together.items()}
        assert_same(outputs(model, [bags[b]]), expected, f"bag {b} differs alone", ROUNDING)


def check_names_and_table_do_not_matter(estimator: Any) -> None:
    """What travels with the bags, labels among it, changes no output."""
    bare = Bags.from_list(draw_bags())
    table = {"label": draw_labels(), "y": np.arange(24) % 2}
    dressed = Bags(bare.points, bare.offsets, names=np.arange(24)[::-1], table=table)
    expected = outputs(fit(estimator, bare), bare)
    assert_same(outputs(fit(estimator, dressed), dressed), expected, "names or table matter")


def check_not_fitted_says_so(estimator: Any) -> None:
    """Every output method of what is not fitted raises ``NotFittedError``."""
    for name in OUTPUTS:
        if not hasattr(type(estimator), name):
            continue
        try:
            getattr(clone(estimator), name)(draw_bags())
        except NotFittedError:
            continue
        raise AssertionError(f"{name} before fit does not raise NotFittedError")


def check_fit_transform(estimator: Any) -> None:
    """``fit_transform`` gives what ``fit`` and ``transform`` give."""
    if hasattr(estimator, "fit_transform"):
        bags = draw_bags()
        expected = outputs(fit(estimator, bags), bags)
        both = clone(estimator).fit_transform(bags, draw_labels())
        assert_same(
            outputs(_Given(both), bags), {"transform": expected["transform"]}, "fit_transform"
        )


class _Given:
    """A model whose transform is known."""

    def __init__(self, output: Any) -> None:
        self.output = output

    def transform(self, X: Any) -> Any:
        """What was given."""
        return self.output


def check_global_random_state(estimator: Any) -> None:
    """Neither fit nor output touches NumPy's global random numbers."""
    before = np.random.get_state()  # noqa: NPY002
    outputs(fit(estimator, draw_bags()), draw_bags())
    after = np.random.get_state()  # noqa: NPY002
    assert_array_equal(before[1], after[1], err_msg="the global random state has changed")
    assert before[2:] == after[2:], "the global random state has changed"


def check_kinds_of_input(estimator: Any) -> None:
    """A list, Bags, a 3-D array, a memory map, read-only and float32 points agree."""
    bags = draw_bags(sizes=(5, 6))
    cube = np.stack(bags)
    frozen = cube.reshape(-1, 3).copy()
    frozen.flags.writeable = False
    offsets = np.arange(0, len(frozen) + 1, 5)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "points.npy", frozen)
        kinds = {
            "a tuple": tuple(bags),
            "Bags": Bags(frozen.copy(), offsets),
            "a 3-D array": cube,
            "a memory map": Bags(np.load(Path(folder) / "points.npy", mmap_mode="r"), offsets),
            "read-only points": Bags(frozen, offsets),
            "float32 points": [bag.astype(np.float32) for bag in bags],
        }
        expected = outputs(fit(estimator, bags), bags)
        for kind, X in kinds.items():
            got = outputs(fit(estimator, X), X)
            assert_same(got, expected, f"{kind} differ from a list", ROUNDING)
        del kinds, X  # a mapped file cannot be removed everywhere


def check_objects(estimator: Any) -> None:
    """An array of arrays is refused with what to do; a 2-D array of numbers as objects is not."""
    bags = draw_bags()
    objects = np.empty(len(bags), dtype=object)
    objects[:] = bags
    model = fit(estimator, bags)
    words, what = "pass list(X)", "an array of arrays"
    assert_refused(lambda: clone(estimator).fit(objects, draw_labels()), words, what)
    assert_refused(lambda: outputs(model, objects), words, what)
    rows = np.concatenate(bags)[: len(bags)]
    expected = outputs(model, rows)
    assert_same(outputs(model, rows.astype(object)), expected, "numbers as objects differ")


def _check_refused(estimator: Any, X: Any, words: str, what: str) -> None:
    model = fit(estimator, draw_bags())
    assert_refused(lambda: clone(estimator).fit(X, draw_labels(len(X))), words, f"{what} in fit")
    for name in OUTPUTS:
        if hasattr(model, name):
            method = getattr(model, name)
            assert_refused(lambda method=method: method(X), words, f"{what} in {name}")


def check_empty_bags_are_refused(estimator: Any) -> None:
    """An empty bag is refused by its number."""
    bags = draw_bags()
    bags[3] = np.empty((0, 3))
    _check_refused(estimator, bags, "bag 3", "an empty bag")


def check_nan_is_refused(estimator: Any) -> None:
    """NaN is refused with the number of its bag."""
    bags = draw_bags()
    bags[5][1, 2] = np.nan
    _check_refused(estimator, bags, "bag 5 has NaN", "NaN")


def check_infinity_is_refused(estimator: Any) -> None:
    """Infinity is refused with the number of its bag."""
    for value in (np.inf, -np.inf):
        bags = draw_bags()
        bags[5][1, 2] = value
        _check_refused(estimator, bags, "bag 5 has infinity", "infinity")


def check_ragged_width_is_refused(estimator: Any) -> None:
    """A bag of another width is refused by its number, all bags of another width by theirs."""
    bags = draw_bags()
    bags[4] = bags[4][:, :2]
    _check_refused(estimator, bags, "bag 4 has 2 features, expected 3", "a ragged width")
    model = fit(estimator, draw_bags())
    narrow = [bag[:, :2] for bag in draw_bags()]
    for name in OUTPUTS:
        if hasattr(model, name):
            method = getattr(model, name)
            words = "X has 2 features"
            assert_refused(lambda method=method: method(narrow), words, f"another width in {name}")


def check_no_bags_are_refused(estimator: Any) -> None:
    """Neither an empty list nor Bags of no bags pass."""
    _check_refused(estimator, Bags.from_list(draw_bags())[:0], "no bags", "Bags of no bags")
    _check_refused(estimator, [], "no bags", "an empty list")


def check_weights_of_one_equal_none(estimator: Any) -> None:
    """Point weights of one change nothing."""
    plain = Bags.from_list(draw_bags())
    ones = Bags(plain.points, plain.offsets, weights=np.ones(len(plain.points)))
    expected = outputs(fit(estimator, plain), plain)
    assert_same(outputs(fit(estimator, ones), ones), expected, "weights of one differ", ROUNDING)


def check_whole_weights_equal_repeated_points(estimator: Any) -> None:
    """A point of weight 2 counts as twice the point, in place, one of weight 0 as none."""
    bags = draw_bags()
    rng = np.random.default_rng(0)
    times = [rng.integers(0, 4, len(bag)) for bag in bags]
    for each in times:
        each[0] += 1  # no bag may be empty once its points of weight zero are gone
    weighted = Bags.from_list(bags, weights=times)
    repeated = [np.repeat(bag, n, axis=0) for bag, n in zip(bags, times, strict=True)]
    expected = outputs(fit(estimator, repeated), repeated)
    got = outputs(fit(estimator, weighted), weighted)
    assert_same(got, expected, "whole weights differ from repeated points", 1e-8)


def check_fit_changes_nothing(estimator: Any) -> None:
    """Fit changes neither parameters nor input, and returns the estimator."""
    model, bags, y = clone(estimator), Bags.from_list(draw_bags()), draw_labels()
    copy, before = Bags(bags.points.copy(), bags.offsets.copy()), model.get_params(deep=False)
    assert model.fit(bags, y) is model, "fit does not return the estimator"
    outputs(model, bags)
    assert bags == copy, "the input has changed"
    assert_array_equal(y, draw_labels(), err_msg="the labels have changed")
    for name, value in model.get_params(deep=False).items():
        assert value is before[name], f"fit has changed the parameter {name}"


def check_n_jobs_changes_no_bit(estimator: Any) -> None:
    """One and two threads give the same bits."""
    if "n_jobs" not in estimator.get_params():
        return
    bags = draw_bags(n_bags=60)
    one, two = (fit(clone(estimator).set_params(n_jobs=n), bags) for n in (1, 2))
    assert_same(outputs(two, bags), outputs(one, bags), "two threads differ from one")


def check_n_features_in(estimator: Any) -> None:
    """``n_features_in_`` comes with fit and is the number of features of a point."""
    assert not hasattr(clone(estimator), "n_features_in_"), "n_features_in_ is there before fit"
    assert fit(estimator, draw_bags()).n_features_in_ == 3


def check_feature_names_out(estimator: Any) -> None:
    """A transformer of bags to columns names as many columns as it gives, in order."""
    model = fit(estimator, draw_bags())
    if not hasattr(model, "transform") or isinstance(model.transform(draw_bags()), Bags):
        return
    names = model.get_feature_names_out()
    assert len(names) == model.transform(draw_bags()).shape[1], "names and columns differ"
    assert len(set(names)) == len(names), "two columns share a name"


def check_set_output(estimator: Any) -> None:
    """``set_output`` gives a frame of the same numbers under those names."""
    model = fit(estimator, draw_bags())
    if not hasattr(model, "transform"):
        return
    plain = model.transform(draw_bags())
    if isinstance(plain, Bags) or hasattr(plain, "toarray"):
        return
    import pandas as pd

    frame = clone(model).set_output(transform="pandas").fit(draw_bags(), draw_labels())
    frame = frame.transform(draw_bags())
    assert isinstance(frame, pd.DataFrame), "set_output(transform='pandas') gives no frame"
    assert_array_equal(frame.to_numpy(), plain)
    assert list(frame.columns) == list(model.get_feature_names_out())


def check_pickle_in_a_new_process(estimator: Any) -> None:
    """A pickled model gives the same bits in a new process, if that can import its class."""
    kind = type(estimator)
    if kind.__module__ == "__main__" or "<locals>" in kind.__qualname__:
        return
    _check_new_process(estimator, "pickle.load(open(path, 'rb'))", pickle_to)


def check_save_in_a_new_process(estimator: Any) -> None:
    """A saved model gives the same bits in a new process; for estimators of bagwise."""
    kind = type(estimator)
    if f"{kind.__module__}.{kind.__name__}" in OURS:
        _check_new_process(estimator, "bagwise.load(path)", save)


def pickle_to(model: Any, path: Path) -> None:
    """Pickle the model to a file."""
    path.write_bytes(pickle.dumps(model))


def _check_new_process(estimator: Any, load: str, store: Callable[[Any, Path], None]) -> None:
    code = (
        "import pickle, sys, numpy, bagwise\n"
        "from bagwise.testing.data import as_text, draw_bags, outputs\n"
        "path, out = sys.argv[1:]\n"
        f"numpy.savez(out, **as_text(outputs({load}, draw_bags(1))))\n"
    )
    model = fit(estimator, draw_bags())
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "model", Path(folder) / "out.npz"
        store(model, path)
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        child = subprocess.run(
            [sys.executable, "-c", code, path, out], env=environment, capture_output=True, text=True
        )
        assert child.returncode == 0, f"the new process fails: {child.stderr[-500:]}"
        with np.load(out, allow_pickle=False) as got:
            assert_same(dict(got), as_text(outputs(model, draw_bags(1))), "a new process differs")


def check_cross_validation(estimator: Any) -> None:
    """``cross_val_score`` and ``cross_val_predict`` do what a loop over the folds does."""
    bags, y, model = Bags.from_list(draw_bags()), draw_labels(), classifier_with(estimator)
    folds = list(KFold(3, shuffle=True, random_state=0).split(bags, y))
    expected = np.empty(len(y), dtype=object)
    for train, test in folds:
        rows = [bags[int(b)] for b in train]
        expected[test] = clone(model).fit(rows, y[train]).predict([bags[int(b)] for b in test])
    assert_array_equal(cross_val_predict(model, bags, y, cv=folds), expected)
    scores = [(expected[test] == y[test]).mean() for _, test in folds]
    assert_allclose(cross_val_score(model, bags, y, cv=folds), scores)


def check_grid_search(estimator: Any) -> None:
    """``GridSearchCV`` sets the parameters of the step and refits on all bags."""
    bags, y = Bags.from_list(draw_bags()), draw_labels()
    model = classifier_with(estimator)
    step = model.steps[0][0]
    grid = {f"{step}__{name}": [value] for name, value in estimator.get_params(deep=False).items()}
    search = GridSearchCV(model, grid, cv=3, error_score="raise")
    expected = clone(model).fit(bags, y).predict(bags)
    assert_array_equal(search.fit(bags, y).predict(bags), expected)


def check_groups_and_text_labels(estimator: Any) -> None:
    """``StratifiedGroupKFold`` with text labels keeps groups together and scores every fold."""
    bags, y, groups = Bags.from_list(draw_bags()), draw_labels(), np.arange(24) // 4
    model, cv = classifier_with(estimator), StratifiedGroupKFold(3)
    scores = cross_val_score(model, bags, y, groups=groups, cv=cv, error_score="raise")
    assert ((scores >= 0.0) & (scores <= 1.0)).all()


def check_train_test_split(estimator: Any) -> None:
    """``train_test_split`` parts bags and labels alike."""
    bags, y = Bags.from_list(draw_bags(), table={"row": np.arange(24)}), draw_labels()
    train, test, y_train, y_test = train_test_split(bags, y, random_state=0)
    assert_array_equal(draw_labels()[train.table["row"]], y_train)
    model = classifier_with(estimator).fit(train, y_train)
    assert len(model.predict(test)) == len(y_test)


def check_permutation_test(estimator: Any) -> None:
    """``permutation_test_score`` scores as ``cross_val_score`` does, and shuffled labels too."""
    bags, y, model = Bags.from_list(draw_bags()), draw_labels(), classifier_with(estimator)
    score, shuffled, _ = permutation_test_score(
        model, bags, y, cv=3, n_permutations=5, random_state=0
    )
    assert_allclose(score, cross_val_score(model, bags, y, cv=3).mean())
    assert np.isfinite(shuffled).all(), f"shuffled labels score {shuffled}"


def check_stacking(estimator: Any) -> None:
    """``StackingClassifier`` takes bags and learns from what the model predicts out of fold."""
    bags, y = Bags.from_list(draw_bags()), draw_labels()
    model = StackingClassifier([("bags", classifier_with(estimator))], cv=3).fit(bags, y)
    assert set(model.predict(bags)) <= set(y)
    assert model.transform(bags).shape[0] == len(bags)


def check_metadata_routing(estimator: Any) -> None:
    """The data argument is X, so nothing but weights is ever routed; weights reach their step."""
    methods = ["fit", *(name for name in OUTPUTS if hasattr(estimator, name))]
    for name in methods:
        given = list(inspect.signature(getattr(estimator, name)).parameters)
        assert given[0] == "X", f"the first argument of {name} is {given[0]!r}, expected 'X'"
    with sklearn.config_context(enable_metadata_routing=True):
        bags, y, weights = Bags.from_list(draw_bags()), draw_labels(), np.linspace(0.5, 2.0, 24)
        model = classifier_with(estimator)
        routed = [step for step in model if _takes_weight(step, "fit")]
        for step in routed:
            step.set_fit_request(sample_weight=True)
            if _takes_weight(step, "score"):
                step.set_score_request(sample_weight=True)
        params = {"sample_weight": weights} if routed else None
        scores = cross_validate(model, bags, y, params=params, cv=3, error_score="raise")
        assert len(scores["test_score"]) == 3


def _takes_weight(step: Any, name: str) -> bool:
    method = getattr(step, name, None)
    return method is not None and "sample_weight" in inspect.signature(method).parameters


CHECKS: list[Callable[[Any], None]] = [
    function for name, function in list(globals().items()) if name.startswith("check_")
]
