"""Estimators of bags with one fault each, for the checks that must catch them."""

import numpy as np

from bagwise import Bags, Codebook, as_bags


class Faulty(Codebook):
    """A codebook whose name says what is wrong with it."""

    def __init__(self, n_codewords=4, *, method="kmeans", n_jobs=None, random_state=0):
        super().__init__(n_codewords, method=method, n_jobs=n_jobs, random_state=random_state)


class ChangesAParameterInInit(Faulty):
    def __init__(self, n_codewords=4, *, method="kmeans", n_jobs=None, random_state=0):
        super().__init__(n_codewords + 1, method=method, n_jobs=n_jobs, random_state=random_state)


class RemembersTheFirstFit(Faulty):
    def fit(self, X, y=None):
        return self if hasattr(self, "codewords_") else super().fit(X, y)


class LooksAtTheFirstPoint(Faulty):
    def transform(self, X):
        return super().transform(X) + np.array([bag[0, :1] for bag in as_bags(X)])


class CountsWithItsPlace(Faulty):
    def transform(self, X):
        counts = super().transform(X)
        return counts + np.arange(len(counts))[:, np.newaxis]


class CentresTheBatch(Faulty):
    def transform(self, X):
        counts = super().transform(X)
        return counts - counts.mean(axis=0)


class RoundsFloat32(Faulty):
    def fit(self, X, y=None):
        super().fit(X, y)
        if as_bags(X).points.dtype == np.float32:
            self.codewords_ = np.round(self.codewords_)
        return self


class WritesIntoItsInput(Faulty):
    def transform(self, X):
        bags = as_bags(X)
        bags.points[:] = np.abs(bags.points)  # fails where points are read-only
        return super().transform(bags)


class UnpacksObjects(Faulty):
    def fit(self, X, y=None):
        return super().fit(list(X) if isinstance(X, np.ndarray) and X.ndim == 1 else X, y)


class DropsEmptyBags(Faulty):
    def fit(self, X, y=None):
        if isinstance(X, list):
            X = [bag for bag in X if len(bag)]
        return super().fit(X, y)


def _replaced(X, bad, good):
    bags = as_bags(X)
    points = np.where(bad(bags.points), good, bags.points)
    return Bags(points, bags.offsets, weights=bags.weights)


class TakesNanForZero(Faulty):
    def transform(self, X):
        return super().transform(_replaced(X, np.isnan, 0.0))


class TakesInfinityForAMillion(Faulty):
    def fit(self, X, y=None):
        return super().fit(_replaced(X, np.isinf, 1e6), y)


class CutsToTheSameWidth(Faulty):
    def transform(self, X):
        return super().transform([np.resize(bag, (len(bag), 3)) for bag in X])


class TakesNoBags(Faulty):
    def transform(self, X):
        return super().transform(X) if len(X) else np.empty((0, self.n_codewords))


class CountsWeightsAsPoints(Faulty):
    def transform(self, X):
        bonus = 0.0 if as_bags(X).weights is None else 1.0
        return super().transform(X) + bonus


class IgnoresWeightsInFit(Faulty):
    def fit(self, X, y=None):
        bags = as_bags(X)
        return super().fit(Bags(bags.points, bags.offsets), y)


class ChangesAParameterInFit(Faulty):
    def fit(self, X, y=None):
        super().fit(X, y)
        self.n_codewords = int(self.n_codewords) * 1000 // 1000 + 0
        self.random_state = 1
        return self


class SortsItsInput(Faulty):
    def fit(self, X, y=None):
        super().fit(X, y)
        as_bags(X).points.sort(axis=0)
        return self


class AddsByThread(Faulty):
    def fit(self, X, y=None):
        super().fit(X, y)
        self.codewords_ = self.codewords_ * (1.0 if self.n_jobs in (None, 1) else 1.25)
        return self


class HidesItsWidth(Faulty):
    def fit(self, X, y=None):
        super().fit(X, y)
        self.n_features_in_ = 4 if len(X) else 3
        return self


class NamesTooManyColumns(Faulty):
    @property
    def _n_features_out(self):
        return self.n_codewords + 1


class NamesAColumnTwice(Faulty):
    def get_feature_names_out(self, input_features=None):
        return np.array(["word"] * self.n_codewords, dtype=object)


class KnowsNoFrames(Faulty):
    def set_output(self, *, transform=None):
        return self


class PicklesInHalf(Faulty):
    def __getstate__(self):
        state = super().__getstate__()
        return state | {"codewords_": np.round(state["codewords_"])}


class SplitsByName(Faulty):
    """Learns from every bag but the first of those it is given as Bags."""

    def fit(self, X, y=None):
        return super().fit(X[1:] if isinstance(X, Bags) and len(X) < 20 else X, y)


class ForgetsParametersThatAreSet(Faulty):
    def set_params(self, **parameters):
        return super().set_params(**dict.fromkeys(parameters, 1))


class KnowsNoText(Faulty):
    def fit(self, X, y=None):
        np.asarray(y, dtype=float)
        return super().fit(X, y)


class BreaksOnIndexedBags(Faulty):
    def fit(self, X, y=None):
        if isinstance(X, Bags) and "row" in X.table:
            raise KeyError("row")
        return super().fit(X, y)


class RefusesOddLabels(Faulty):
    """Learns only labels that come in turn."""

    def fit(self, X, y=None):
        y = np.asarray(y)
        if (y[:-1] == y[1:]).sum() > 3:
            raise ValueError("labels come in runs")
        return super().fit(X, y)


class ReadsTheTable(Faulty):
    def transform(self, X):
        counts = super().transform(X)
        table = getattr(X, "table", {})
        return counts + np.asarray(table["y"])[:, np.newaxis] if "y" in table else counts


class AnswersUnfitted(Faulty):
    def transform(self, X):
        return super().transform(X) if hasattr(self, "codewords_") else np.zeros((len(X), 4))


class TransformsOtherwiseInFit(Faulty):
    def fit_transform(self, X, y=None):
        return self.fit(X, y).transform(X) + 1.0


class SeedsTheWorld(Faulty):
    def fit(self, X, y=None):
        np.random.seed(0)  # noqa: NPY002
        return super().fit(X, y)


class CentresLargeBatches(Faulty):
    def transform(self, X):
        counts = super().transform(X)
        return counts - counts.mean(axis=0) if len(counts) > 24 else counts


class CountsWeightsOfZero(Faulty):
    def transform(self, X):
        bags = as_bags(X)
        weights = None if bags.weights is None else np.maximum(bags.weights, 1.0)
        return super().transform(Bags(bags.points, bags.offsets, weights=weights))


class DiesInAnEnsemble(Faulty):
    def fit(self, X, y=None):
        if np.asarray(y).dtype.kind == "i":
            raise ValueError("labels are numbers")
        return super().fit(X, y)


class CallsItBags(Faulty):
    def fit(self, bags, y=None):
        return super().fit(bags, y)


class WantsWeightsItIsNotGiven(Faulty):
    def fit(self, X, y=None, sample_weight=None):
        if sample_weight is not None:
            raise TypeError("sample_weight came")
        return super().fit(X, y)
