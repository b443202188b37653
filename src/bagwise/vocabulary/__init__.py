"""Codebook: points to words, bags to counts of words."""

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bagwise.arrays import as_array
from bagwise.bags import check_bags
from bagwise.checks import check_choice, check_learned, check_real, check_whole, find_unfit
from bagwise.kernels.points import count_labels, nearest
from bagwise.parallel import map_blocks, pieces
from bagwise.vocabulary.methods import METHODS, gather_points


class Codebook(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Turn each bag into counts over codewords learned from the training bags.

    Parameters
    ----------
    n_codewords : int, default=256
        How many codewords, in all.
    method : {"kmeans", "random", "grid", "per_class"}, default="kmeans"
        The four vocabularies of [cope:13, section 3.1].  "kmeans": centres of a clustering of
        all training points.  "random": distinct training points, drawn by their weight.
        "grid": evenly over the bounding box of the training points; a regular lattice where
        n_codewords is m^n_features for a whole m, else scrambled Sobol points.  An even grid of
        256 words in 20 dimensions does not exist: 2 words a dimension are a million, and most
        Sobol words of such a box see no point (``usage_``).  "per_class": a clustering of each
        class, joined; words are divided evenly, the first classes have one more.
    init : "k-means++" or (n_codewords, n_features) array, default="k-means++"
        Where clusterings start; an array is copied.
    max_iter : int, default=300
        Rounds of a clustering at most.
    tol : float, default=1e-5
        A clustering ends when a round lowers the mean squared distance of a point to its
        codeword by less than ``tol`` times that of a point to the mean.
    n_jobs : int, default=None
        Threads.  The result is the same for any number.
    random_state : int, RandomState or None, default=None
        Seeds drawing and starting.

    Attributes
    ----------
    codewords_ : (n_codewords, n_features) array
    usage_ : (n_codewords,) array
        Share of the training points, by weight, nearest to each codeword.
    objective_ : (n_iter_,) array
        Mean squared distance of a training point to its codeword in each round; the last is
        that of ``codewords_``.
    n_iter_ : int
    n_features_in_ : int

    Notes
    -----
    ``fit`` holds all training points in memory as float64; ``Bags.sample`` draws fewer.
    ``transform`` and ``assign`` pass through data of any size.

    Weights are those of the points, ``Bags.weights``: a point of weight 2 counts as two.

    Examples
    --------
    >>> bags = [[[0.0], [0.1]], [[0.2], [9.0], [9.1], [9.2]]]
    >>> Codebook(n_codewords=2, random_state=0).fit_transform(bags)
    array([[0., 2.],
           [3., 1.]])
    """

    def __init__(
        self,
        n_codewords=256,
        *,
        method="kmeans",
        init="k-means++",
        max_iter=300,
        tol=1e-5,
        n_jobs=None,
        random_state=None,
    ):
        self.n_codewords = n_codewords
        self.method = method
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y=None):
        """Learn the codewords of bags X; ``y``, a label a bag, is used by "per_class" alone."""
        bags = check_bags(self, X, reset=True)
        self._check_parameters()
        if y is None and self.method == "per_class":
            raise ValueError(
                "method='per_class' requires y to be passed, but the target y is None; pass a "
                "label for each bag"
            )
        training = gather_points(bags, y if self.method == "per_class" else None)
        rng = check_random_state(self.random_state)
        self.codewords_, self.usage_, self.objective_ = METHODS[self.method](self, training, rng)
        self.n_iter_ = len(self.objective_)
        return self

    def transform(self, X):
        """Points of each bag nearest each codeword, by weight: counts (n_bags, n_codewords)."""
        check_is_fitted(self)
        bags = check_bags(self, X, reset=False)
        counts = np.zeros((len(bags), len(self.codewords_)))

        def count(block, where):
            for rows in pieces(block):
                labels = nearest(block.points[rows], self.codewords_)
                point = np.arange(rows.start, rows.stop)
                bag = where.start + np.searchsorted(block.offsets, point, side="right") - 1
                count_labels(labels, bag, block.point_weights(rows), counts)

        map_blocks(count, bags, self.n_jobs)
        return counts

    def assign(self, X):
        """The codeword nearest to every point of bags X: (n_points,) of int64."""
        check_is_fitted(self)
        bags = check_bags(self, X, reset=False)

        def label(block, where):
            return [nearest(block.points[rows], self.codewords_) for rows in pieces(block)]

        return np.concatenate(
            [part for parts in map_blocks(label, bags, self.n_jobs) for part in parts]
        )

    def ground_distance(self, metric="euclidean"):
        """Distances between codewords, (n_codewords, n_codewords); any metric of SciPy's pdist."""
        check_is_fitted(self)
        try:
            return squareform(pdist(self.codewords_, metric))
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"metric is {metric!r}, expected one that pdist knows: {error}"
            ) from None

    def check_learned(self):
        """Refuse parameters and attributes that do not fit each other, as a file may hold them."""
        if not hasattr(self, "codewords_"):
            return
        self._check_parameters()
        check_whole("n_iter_", self.n_iter_, 1)
        check_learned(
            self,
            codewords_=(self.n_codewords, self.n_features_in_),
            usage_=(self.n_codewords,),
            objective_=(self.n_iter_,),
        )

    def _check_parameters(self):
        check_whole("n_codewords", self.n_codewords, 1)
        check_choice("method", self.method, METHODS)
        check_whole("max_iter", self.max_iter, 1)
        check_real("tol", self.tol, 0.0)
        if isinstance(self.init, str):
            check_choice("init", self.init, ["k-means++"])
            return
        if self.method in ("random", "grid"):
            raise ValueError(f"init is an array, but method={self.method!r} clusters nothing")
        init, shape = as_array(self.init, "init"), (self.n_codewords, self.n_features_in_)
        if init.shape != shape or init.dtype.kind not in "biuf" or find_unfit(init):
            raise ValueError(
                f"init has shape {init.shape} of {init.dtype}, expected 'k-means++' or an array of "
                f"shape {shape} without NaN or infinity"
            )

    @property
    def _n_features_out(self):
        return len(self.codewords_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.method == "per_class"
        return tags
