"""The types that a model file may hold.

Only such whose content NumPy and SciPy follow with their bounds checked, and few that ``models``
checks.  Trees, neighbour searches, encoders and factorisations of scikit-learn are left out: their
arrays hold places or sizes that compiled code trusts.
"""

OURS = ["bagwise.vocabulary.Codebook"]

_SKLEARN = """
sklearn.calibration CalibratedClassifierCV _CalibratedClassifier _SigmoidCalibration
sklearn.compose._column_transformer ColumnTransformer
sklearn.compose._target TransformedTargetRegressor
sklearn.cross_decomposition._pls PLSRegression
sklearn.decomposition._factor_analysis FactorAnalysis
sklearn.decomposition._fastica FastICA
sklearn.decomposition._incremental_pca IncrementalPCA
sklearn.decomposition._kernel_pca KernelPCA
sklearn.decomposition._pca PCA
sklearn.decomposition._truncated_svd TruncatedSVD
sklearn.discriminant_analysis LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis
sklearn.dummy DummyClassifier DummyRegressor
sklearn.ensemble._bagging BaggingClassifier
sklearn.ensemble._stacking StackingClassifier
sklearn.ensemble._voting VotingClassifier
sklearn.feature_extraction.text CountVectorizer TfidfTransformer TfidfVectorizer
sklearn.feature_selection._univariate_selection SelectKBest SelectPercentile
sklearn.feature_selection._variance_threshold VarianceThreshold
sklearn.frozen._frozen FrozenEstimator
sklearn.gaussian_process._gpc GaussianProcessClassifier _BinaryGaussianProcessClassifierLaplace
sklearn.gaussian_process.kernels ConstantKernel Product RBF Sum WhiteKernel
sklearn.impute._base SimpleImputer
sklearn.kernel_approximation AdditiveChi2Sampler Nystroem RBFSampler
sklearn.linear_model._base LinearRegression
sklearn.linear_model._logistic LogisticRegression LogisticRegressionCV
sklearn.linear_model._passive_aggressive PassiveAggressiveClassifier
sklearn.linear_model._perceptron Perceptron
sklearn.linear_model._ridge Ridge RidgeCV RidgeClassifier RidgeClassifierCV
sklearn.linear_model._stochastic_gradient SGDClassifier
sklearn.multiclass OneVsOneClassifier OneVsRestClassifier OutputCodeClassifier _ConstantPredictor
sklearn.multioutput ClassifierChain MultiOutputClassifier
sklearn.naive_bayes BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB
sklearn.neighbors._nearest_centroid NearestCentroid
sklearn.neural_network._multilayer_perceptron MLPClassifier MLPRegressor
sklearn.neural_network._stochastic_optimizers AdamOptimizer SGDOptimizer
sklearn.pipeline FeatureUnion Pipeline
sklearn.preprocessing._data MaxAbsScaler MinMaxScaler Normalizer PowerTransformer
sklearn.preprocessing._data QuantileTransformer RobustScaler StandardScaler
sklearn.preprocessing._function_transformer FunctionTransformer
sklearn.preprocessing._label LabelBinarizer LabelEncoder
sklearn.random_projection GaussianRandomProjection
sklearn.semi_supervised._self_training SelfTrainingClassifier
sklearn.svm._classes LinearSVC NuSVC SVC
sklearn.utils._metadata_requests MetadataRequest MethodMetadataRequest
"""

_DATA = """
builtins NoneType bool dict float int list set slice str tuple
collections OrderedDict
numpy bool bool_ complex128 dtype float32 float64 int16 int32 int64 int8 ndarray str_ uint16 uint32
numpy uint64 uint8
numpy.ma MaskedArray
numpy.random.mtrand RandomState
scipy.sparse._csr csr_array csr_matrix
sklearn.utils._bunch Bunch
"""

_LOSSES = """
sklearn.linear_model._sgd_fast EpsilonInsensitive Hinge Huber Log ModifiedHuber SquaredHinge
"""

_FUNCTIONS = """
numpy exp log log1p sqrt
sklearn.feature_selection._univariate_selection chi2 f_classif
"""


def _names(lines: str) -> set[str]:
    rows = [line.split() for line in lines.split("\n") if line]
    return {f"{module}.{name}" for module, *names in rows for name in names}


# What each kind of node of an archive may be.
TRUSTED = {
    "ObjectNode": {*OURS, *_names(_SKLEARN)},
    "FunctionNode": _names(_FUNCTIONS),
    "LossNode": _names(_LOSSES),
    **dict.fromkeys(
        ["DictNode", "ListNode", "SetNode", "TupleNode", "SliceNode", "JsonNode", "TypeNode",
         "NdArrayNode", "DTypeNode", "MaskedArrayNode", "RandomStateNode", "SparseMatrixNode"],
        _names(_DATA),
    ),
}  # fmt: skip
