"""Every check passes on what is right and catches the fault that is planted for it."""

import faulty
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from bagwise import Bags, Codebook, as_bags
from bagwise.bags import check_bags
from bagwise.parallel import check_values
from bagwise.testing import (
    CHECKS,
    bag_checks,
    check_bag_estimator,
    parametrize_with_bag_checks,
)
from bagwise.testing.data import outputs

METHODS = ["kmeans", "random", "grid", "per_class"]
PROCESSES = {"check_pickle_in_a_new_process", "check_save_in_a_new_process"}


@parametrize_with_bag_checks([Codebook(4, random_state=0)])
def test_codebook_keeps_the_contract_of_bags(estimator, check):
    check(estimator)


@pytest.mark.parametrize("method", METHODS[1:])
@pytest.mark.parametrize("check", [c for c in CHECKS if c.__name__ not in PROCESSES])
def test_every_vocabulary_keeps_the_contract_within_this_process(method, check):
    check(Codebook(4, method=method, random_state=0))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_codebook_passes_the_whole_battery(method):
    check_bag_estimator(Codebook(4, method=method, random_state=0))


class NearestMean(ClassifierMixin, BaseEstimator):
    """A classifier of bags in a few lines, as a user may write one."""

    def fit(self, X, y):
        means = self._means(X, reset=True)
        self.classes_ = np.unique(y)
        self.centers_ = np.array([means[y == label].mean(axis=0) for label in self.classes_])
        return self

    def predict(self, X):
        apart = self._means(X, reset=False)[:, np.newaxis] - self.centers_
        return self.classes_[(apart**2).sum(axis=2).argmin(axis=1)]

    def _means(self, X, reset):
        if not reset:
            check_is_fitted(self)
        bags = check_bags(self, X, reset=reset)
        check_values(bags)
        weights = np.split(bags.point_weights(), bags.offsets[1:-1])
        return np.array(
            [
                np.average(bag.astype(float), axis=0, weights=weight)
                for bag, weight in zip(bags, weights, strict=True)
            ]
        )


COLUMNS_OR_BAGS = {
    "check_feature_names_out",
    "check_set_output",
    "check_kinds_of_input",
    "check_order_of_points",
    "check_order_of_bags",
    "check_bag_alone",
    "check_weights_of_one_equal_none",
    "check_fit_changes_nothing",
}


class Halver(TransformerMixin, BaseEstimator):
    """A transformer that returns bags."""

    def fit(self, X, y=None):
        check_values(check_bags(self, X, reset=True))
        return self

    def transform(self, X):
        bags = check_bags(self, X, reset=False)
        check_values(bags)
        return Bags(bags.points / 2, bags.offsets, weights=bags.weights)


def test_a_classifier_of_a_user_passes():
    unequal = {"check_whole_weights_equal_repeated_points": "means of means weigh bags alike"}
    check_bag_estimator(NearestMean(), expected_failed_checks=unequal)


FAULTS = {
    "check_clone_keeps_parameters": [faulty.ChangesAParameterInInit],
    "check_refit_equals_first_fit": [faulty.RemembersTheFirstFit],
    "check_order_of_points": [faulty.LooksAtTheFirstPoint],
    "check_order_of_bags": [faulty.CountsWithItsPlace],
    "check_bag_alone": [faulty.CentresTheBatch, faulty.CentresLargeBatches],
    "check_names_and_table_do_not_matter": [faulty.ReadsTheTable],
    "check_not_fitted_says_so": [faulty.AnswersUnfitted],
    "check_fit_transform": [faulty.TransformsOtherwiseInFit],
    "check_global_random_state": [faulty.SeedsTheWorld],
    "check_kinds_of_input": [faulty.RoundsFloat32, faulty.WritesIntoItsInput],
    "check_objects": [faulty.UnpacksObjects],
    "check_empty_bags_are_refused": [faulty.DropsEmptyBags],
    "check_nan_is_refused": [faulty.TakesNanForZero],
    "check_infinity_is_refused": [faulty.TakesInfinityForAMillion],
    "check_ragged_width_is_refused": [faulty.CutsToTheSameWidth],
    "check_no_bags_are_refused": [faulty.TakesNoBags],
    "check_weights_of_one_equal_none": [faulty.CountsWeightsAsPoints],
    "check_whole_weights_equal_repeated_points": [
        faulty.IgnoresWeightsInFit,
        faulty.CountsWeightsOfZero,
    ],
    "check_fit_changes_nothing": [faulty.ChangesAParameterInFit, faulty.SortsItsInput],
    "check_n_jobs_changes_no_bit": [faulty.AddsByThread],
    "check_n_features_in": [faulty.HidesItsWidth],
    "check_feature_names_out": [faulty.NamesTooManyColumns, faulty.NamesAColumnTwice],
    "check_set_output": [faulty.KnowsNoFrames],
    "check_pickle_in_a_new_process": [faulty.PicklesInHalf],
    "check_cross_validation": [faulty.SplitsByName],
    "check_grid_search": [faulty.ForgetsParametersThatAreSet],
    "check_groups_and_text_labels": [faulty.KnowsNoText],
    "check_train_test_split": [faulty.BreaksOnIndexedBags],
    "check_permutation_test": [faulty.RefusesOddLabels],
    "check_stacking": [faulty.DiesInAnEnsemble],
    "check_metadata_routing": [faulty.CallsItBags, faulty.WantsWeightsItIsNotGiven],
}


def test_a_fault_is_planted_for_every_check():
    planted = {*FAULTS, "check_save_in_a_new_process"}  # whose fault is planted below
    assert planted == {check.__name__ for check in CHECKS}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_what_the_faulty_are_made_of_is_sound(check):
    if check.__name__ != "check_pickle_in_a_new_process":
        check(faulty.Faulty())


@pytest.mark.parametrize(
    ("name", "fault"),
    [(name, fault) for name, faults in FAULTS.items() for fault in faults],
    ids=lambda value: getattr(value, "__name__", value),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_every_check_catches_its_fault(name, fault):
    with pytest.raises((AssertionError, ValueError, TypeError, KeyError)):
        getattr(bag_checks, name)(fault())


def test_what_is_lost_by_saving_is_caught(monkeypatch):
    whole = Codebook.__getstate__
    monkeypatch.setattr(
        Codebook,
        "__getstate__",
        lambda self: whole(self) | {"codewords_": np.round(self.codewords_)},
    )
    with pytest.raises(AssertionError, match="a new process differs"):
        bag_checks.check_save_in_a_new_process(Codebook(4, random_state=0))


def test_a_transformer_to_bags_passes_what_is_about_columns():
    for check in CHECKS:
        if check.__name__ in COLUMNS_OR_BAGS:
            check(Halver())


def test_the_battery_raises_what_the_first_check_raises():
    with pytest.raises(AssertionError, match="__init__ changes n_codewords"):
        check_bag_estimator(faulty.ChangesAParameterInInit())


def test_an_estimator_without_outputs_is_refused():
    with pytest.raises(AssertionError, match="has none of the methods transform, predict"):
        outputs(BaseEstimator(), [[[0.0]]])


def test_an_expected_failure_of_no_check_is_refused():
    with pytest.raises(ValueError, match="no such check; .*did you mean 'check_nan_is_refused'"):
        check_bag_estimator(Halver(), expected_failed_checks={"check_nan_refused": "typo"})


def test_expected_failures_become_xfail():
    reasons = {"check_order_of_points": "it looks at the first"}
    mark = parametrize_with_bag_checks([Halver()], expected_failed_checks=reasons)
    marked = {case.values[1].__name__: case.marks for case in mark.args[1]}
    assert [mark.kwargs for mark in marked["check_order_of_points"]] == [
        {"reason": "it looks at the first"}
    ]
    assert not marked["check_bag_alone"]


def test_as_bags_is_the_identity_on_bags():
    bags = Bags([[0.0]], [0, 1])
    assert as_bags(bags) is bags
