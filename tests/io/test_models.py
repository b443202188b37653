import io
import json
import subprocess
import sys
import zipfile
from hashlib import sha256

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.datasets import make_blobs
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, OneHotEncoder
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators

import bagwise
from bagwise import Codebook, load, save
from bagwise.io.models import _without_callbacks, parts_of
from bagwise.io.trusted import OURS


def draw_bags(seed=0, n_bags=12):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(rng.integers(2, 7), 3)) for _ in range(n_bags)]


BAGS, Y = draw_bags(), np.repeat(["ill", "well"], 6)


def fitted(*steps):
    return make_pipeline(Codebook(4, random_state=0), *steps).fit(BAGS, Y)


# What comes back.


@pytest.mark.parametrize(
    "steps",
    [
        [LinearSVC()],
        [Normalizer("l1"), FunctionTransformer(np.sqrt), LogisticRegression()],
        [SVC()],
        [SVC(kernel="linear", random_state=np.random.RandomState(0))],
    ],
    ids=lambda steps: type(steps[-1]).__name__,
)
def test_pipelines_come_back_and_predict_the_same(tmp_path, steps):
    model = fitted(*steps)
    save(model, tmp_path / "model.bagwise")
    back = load(tmp_path / "model.bagwise")
    assert_array_equal(back.predict(draw_bags(1)), model.predict(draw_bags(1)))
    assert_array_equal(back[:-1].transform(BAGS), model[:-1].transform(BAGS))
    assert list(tmp_path.iterdir()) == [tmp_path / "model.bagwise"]


@pytest.mark.parametrize("method", ["kmeans", "random", "grid", "per_class"])
def test_every_learned_attribute_comes_back(tmp_path, method):
    model = Codebook(4, method=method, random_state=0).fit(BAGS, Y)
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    assert vars(back).keys() == vars(model).keys()
    for name, value in vars(model).items():
        assert_array_equal(getattr(back, name), value)


def test_what_is_not_fitted_comes_back_too(tmp_path):
    save(Codebook(7, init=np.zeros((7, 2))), tmp_path / "model")
    assert load(tmp_path / "model").n_codewords == 7


def test_texts_and_frozen_steps(tmp_path):
    texts = ["a bag of words", "a bag of points", "no bag"]
    model = make_pipeline(FrozenEstimator(CountVectorizer().fit(texts)), LinearSVC())
    model.fit(texts, [0, 1, 1])
    save(model, tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").predict(texts), model.predict(texts))


def test_a_new_process_gives_the_same_bits(tmp_path):
    model = fitted(LinearSVC())
    save(model, tmp_path / "model")
    np.savez(
        tmp_path / "bags.npz", points=np.concatenate(BAGS), offsets=np.cumsum([0, *map(len, BAGS)])
    )
    code = (
        "import sys, bagwise; "
        "model, bags = bagwise.load(sys.argv[1]), bagwise.read(sys.argv[2]); "
        "sys.stdout.buffer.write(model.decision_function(bags).tobytes())"
    )
    arguments = [sys.executable, "-c", code, tmp_path / "model", tmp_path / "bags.npz"]
    shown = subprocess.run(arguments, capture_output=True, check=True)
    assert shown.stdout == model.decision_function(BAGS).tobytes()


def test_callbacks_are_left_out(tmp_path):
    from sklearn.callback import ProgressBar

    model = fitted(LogisticRegression())
    model[-1].set_callbacks(ProgressBar())
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    assert not any(hasattr(part, "_skl_callbacks") for part in parts_of(back))
    assert hasattr(model[-1], "_skl_callbacks")
    assert_array_equal(back.predict(BAGS), model.predict(BAGS))
    assert _without_callbacks(back) is back


def test_the_list_of_trusted_types_names_our_estimators():
    ours = {
        f"{value.__module__}.{value.__name__}"
        for value in (getattr(bagwise, name) for name in bagwise.__all__)
        if isinstance(value, type) and issubclass(value, BaseEstimator)
    }
    assert set(OURS) == ours


@pytest.mark.slow
@pytest.mark.guard
@pytest.mark.filterwarnings("ignore")  # of scikit-learn, on data it was not made for
@pytest.mark.parametrize("method", ["binary", "counts"])
def test_each_classifier_round_trips_or_is_refused(tmp_path, method):
    X, y = make_blobs(40, n_features=4, centers=2, random_state=0)
    X = np.abs(X) if method == "binary" else np.round(np.abs(X))
    saved, refused = [], []
    for name, kind in all_estimators("classifier"):
        one = "estimator" in _required(kind) or name == "SelfTrainingClassifier"
        arguments = [LogisticRegression()] if one else []
        if "estimators" in _required(kind):
            arguments = [[("a", LogisticRegression()), ("b", SVC())]]
        model = kind(*arguments)
        many = name in ("ClassifierChain", "MultiOutputClassifier")
        model.fit(X, np.c_[y, y] if many else y)
        try:
            save(model, tmp_path / "model")
        except TypeError as error:
            assert "cannot be saved without pickle: it holds a" in str(error)  # noqa: PT017
            refused.append(name)
            continue
        back = load(tmp_path / "model")
        assert_array_equal(back.predict(X), model.predict(X))
        saved.append(name)
    assert len(saved) >= 25
    assert {"LogisticRegression", "SVC", "LinearSVC", "StackingClassifier"} <= set(saved)
    assert {"RandomForestClassifier", "HistGradientBoostingClassifier"} <= set(refused)


def _required(kind):
    import inspect

    parameters = inspect.signature(kind).parameters.values()
    return [one.name for one in parameters if one.default is one.empty]


# What is refused when saving.


class Strange(BaseEstimator):
    def fit(self, X, y=None):
        return self

    def predict(self, X):
        return X


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (3, "model is a int, expected an estimator or pipeline"),
        (Strange(), "Strange cannot be saved without pickle: it holds a .*Strange, which is not"),
        (
            make_pipeline(Normalizer(), DecisionTreeClassifier()).fit([[1.0], [2.0]], [0, 1]),
            "step 'decisiontreeclassifier', DecisionTreeClassifier cannot .*: it holds a sklearn",
        ),
        (FunctionTransformer(print), "FunctionTransformer cannot be .* it holds a builtins.print"),
        (FunctionTransformer(lambda x: x), "FunctionTransformer cannot be saved without pickle"),
        (DummyClassifier(random_state=np.random.default_rng(0)), "numpy.random._generator.Gener"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_save_refuses_what_load_would_refuse(tmp_path, model, message):
    if isinstance(model, FunctionTransformer):
        model.fit([[1.0]])
    with pytest.raises(TypeError, match=message):
        save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def lying(model, **attributes):
    for name, value in attributes.items():
        setattr(model, name, value)
    return model


def fitted_svm(**arguments):
    X, y = make_blobs(60, n_features=4, centers=3, random_state=0)
    return SVC(**arguments).fit(X, y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            OneHotEncoder().fit([[0], [1]]),
            "it holds a sklearn.preprocessing._encoders.OneHotEncoder",
        ),
        (KNeighborsClassifier(algorithm="brute"), "it holds a sklearn.neighbors"),
        (
            lying(CountVectorizer().fit(["a cat"]), vocabulary_={"cat": 10**9}),
            "its vocabulary does",
        ),
        (
            lying(CountVectorizer().fit(["a cat"]), vocabulary_={"cat": -1}),
            "its vocabulary does not",
        ),
        (lying(TfidfVectorizer().fit(["the cat"]), vocabulary_={"a": 0, "b": 0}), "its vocabulary"),
        (lying(fitted_svm(), _n_support=np.array([10**8, 5, -(10**8)], np.int32)), "do not fit"),
        (
            lying(fitted_svm(), _dual_coef_=csr_array((2, 60))),
            "do not fit each other, or are sparse",
        ),
        (lying(fitted_svm(), _probA=np.zeros(1)), "do not fit each other"),
        (fitted_svm(kernel=lambda a, b: a @ b.T), "FunctionNode|lambda|its kernel|not among"),
        (SVC(kernel="precomputed").fit(np.eye(4), [0, 0, 1, 1]), "its kernel is 'precomputed'"),
        (make_pipeline(Normalizer(), memory="cache"), "it keeps a cache on disk"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_could_lead_compiled_code_astray_is_refused(tmp_path, model, message):
    with pytest.raises(TypeError, match=message):
        save(model, tmp_path / "model")


def test_save_names_the_step_within_a_step(tmp_path):
    inner = make_pipeline(Normalizer(), Strange())
    with pytest.raises(TypeError, match="step 'pipeline', step 'strange', Strange cannot"):
        save(make_pipeline(inner, Normalizer()), tmp_path / "model")


# What is refused when loading: tampered files run no code.

GOOD = None


def good_bytes():
    global GOOD
    if GOOD is None:
        import tempfile
        from pathlib import Path

        with tempfile.TemporaryDirectory() as folder:
            save(fitted(Normalizer("l1"), SVC()), Path(folder) / "model")
            GOOD = (Path(folder) / "model").read_bytes()
    return GOOD


def seal(payload, **changes):
    """A file around a payload, with the right checksum, as an attacker makes one."""
    header = {"format": "bagwise model", "version": 1, "sha256": sha256(payload).hexdigest()}
    return json.dumps(header | changes).encode() + b"\n" + payload


def members_of(payload):
    with zipfile.ZipFile(io.BytesIO(payload)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive_of(members, packing=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def with_schema(change):
    members = members_of(good_bytes().split(b"\n", 1)[1])
    schema = json.loads(members["schema.json"])
    change(schema)
    members["schema.json"] = json.dumps(schema).encode()
    return seal(archive_of(members))


def step(schema, k):
    """The state of a step of the pipeline, as a dict of attribute name to node."""
    return schema["content"]["content"]["steps"]["content"][k]["content"][1]


def put(path, value):
    def change(schema):
        attributes = step(schema, 0)["content"]
        attributes["content"][path] = value
        names = attributes["key_types"]["content"]
        names.append(names[0])

    return change


def node(kind, name, loader, **more):
    module, _, name = name.rpartition(".")
    return {"__class__": name, "__module__": module, "__loader__": loader, **more}


def plain(value):
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
        "is_json": True,
    }


def evil(loader, name, **more):
    def change(schema):
        module, _, last = name.rpartition(".")
        bad = {"__class__": last, "__module__": module, "__loader__": loader, "__id__": 1, **more}
        step(schema, 1)["content"]["content"]["norm"] = bad

    return change


def rename(old, new):
    def change(schema):
        text = json.dumps(schema).replace(old, new)
        schema.clear()
        schema.update(json.loads(text))

    return change


def learned(name, value):
    """One attribute of the codebook replaced by another array or number."""

    def change(members):
        schema = json.loads(members["schema.json"])
        attributes = step(schema, 0)["content"]["content"]
        if isinstance(value, np.ndarray):
            buffer = io.BytesIO()
            np.save(buffer, value)
            members[attributes[name]["file"]] = buffer.getvalue()
        else:
            attributes[name] = plain(value)
        members["schema.json"] = json.dumps(schema).encode()

    return change


def with_members(change):
    members = members_of(good_bytes().split(b"\n", 1)[1])
    change(members)
    return seal(archive_of(members))


def of_svc(name, change_array):
    def change(members):
        attributes = step(json.loads(members["schema.json"]), 2)["content"]["content"]
        file = attributes[name]["file"]
        buffer = io.BytesIO()
        np.save(buffer, change_array(np.load(io.BytesIO(members[file]))))
        members[file] = buffer.getvalue()

    return change


def lying_header(members):
    name = next(name for name in members if name.endswith(".npy"))
    members[name] = members[name].replace(b"'shape': (", b"'shape': (9999999, ", 1)


SYSTEM = {"args": node("", "builtins.tuple", "TupleNode", content=[])}
TAMPERED = {
    "empty": (lambda: b"", "is not a model that bagwise.save wrote"),
    "a pickle": (lambda: b"\x80\x04cposix\nsystem\n(S'touch ran'\ntR.", "pickles are never loaded"),
    "a pickle sealed": (lambda: seal(b"cposix\nsystem\n(S'touch ran'\ntR."), "is cut, damaged or"),
    "bare skops": (lambda: good_bytes().split(b"\n", 1)[1], "is not a model that bagwise.save"),
    "a newer format": (
        lambda: seal(good_bytes().split(b"\n", 1)[1], version=2),
        "is of format version 2, this bagwise reads 1; update",
    ),
    "no version": (lambda: seal(good_bytes().split(b"\n", 1)[1], version=None), "version None"),
    "another format": (lambda: seal(b"", format="x"), "is not a model that bagwise.save wrote"),
    "a list for a header": (lambda: b"[]\n", "is not a model that bagwise.save wrote"),
    "cut": (lambda: good_bytes()[:-100], "its checksum differs"),
    "cut in the header": (lambda: good_bytes()[:50], "is not a model that bagwise.save wrote"),
    "longer": (lambda: good_bytes() + b"\0", "its checksum differs"),
    "cut and sealed": (lambda: seal(good_bytes().split(b"\n", 1)[1][:-100]), "is cut, damaged or"),
    "packed": (
        lambda: seal(archive_of(members_of(good_bytes().split(b"\n", 1)[1]), zipfile.ZIP_DEFLATED)),
        "its parts are packed",
    ),
    "a lying header": (lambda: with_members(lying_header), "ends after"),
    "no schema": (
        lambda: with_members(lambda members: members.pop("schema.json")),
        "is cut, damaged",
    ),
    "an absent array": (
        lambda: with_members(lambda members: members.pop(next(iter(members)))),
        "is cut, damaged or of another",
    ),
    "schema is a list": (
        lambda: with_members(lambda members: members.update({"schema.json": b"[]"})),
        "is cut, damaged or of another",
    ),
    "schema is no JSON": (
        lambda: with_members(lambda members: members.update({"schema.json": b"{"})),
        "model: ",
    ),
    "schema is deep": (
        lambda: with_members(lambda members: members.update({"schema.json": b"[" * 100000})),
        "is cut, damaged",
    ),
    "an old protocol": (
        lambda: with_schema(lambda schema: schema.update(protocol=0)),
        "is of skops protocol 0",
    ),
    "a future protocol": (
        lambda: with_schema(lambda schema: schema.update(protocol=99)),
        "protocol 99",
    ),
    "a protocol of text": (
        lambda: with_schema(lambda schema: schema.update(protocol="x")),
        "model: ",
    ),
    "os.system as a function": (
        lambda: with_schema(evil("FunctionNode", "os.system")),
        "it holds a os.system",
    ),
    "posix.system": (
        lambda: with_schema(evil("FunctionNode", "posix.system")),
        "it holds a posix.system",
    ),
    "eval as a type": (
        lambda: with_schema(evil("TypeNode", "builtins.eval")),
        "it holds a builtins.eval",
    ),
    "exec by a partial": (
        lambda: with_schema(
            evil("PartialNode", "functools.partial", content={"func": {}, **SYSTEM})
        ),
        "it holds a functools.partial",
    ),
    "a method": (
        lambda: with_schema(
            evil("MethodNode", "builtins.function", content={"func": "system", "obj": {}})
        ),
        "it holds a builtins.function",
    ),
    "an operator": (
        lambda: with_schema(evil("OperatorFuncNode", "operator.methodcaller", attrs={})),
        "it holds a operator.methodcaller",
    ),
    "reduce": (
        lambda: with_schema(evil("ConstructorFromReduceNode", "subprocess.Popen", content={})),
        "it holds a subprocess.Popen",
    ),
    "Popen as an object": (
        lambda: with_schema(evil("ObjectNode", "subprocess.Popen")),
        "it holds a subprocess.Popen",
    ),
    "a module to import": (
        lambda: with_schema(evil("TypeNode", "antigravity.fly")),
        "it holds a antigravity.fly",
    ),
    "a type of ours under another loader": (
        lambda: with_schema(evil("TypeNode", "bagwise.vocabulary.Codebook")),
        "it holds a bagwise.vocab",
    ),
    "a trusted name under another loader": (
        lambda: with_schema(evil("ObjectNode", "numpy.exp")),
        "it holds a numpy.exp",
    ),
    "an unknown loader": (
        lambda: with_schema(evil("EvilNode", "builtins.str")),
        "it holds a builtins.str",
    ),
    "a function of ours": (
        lambda: with_schema(evil("FunctionNode", "bagwise.io.write")),
        "it holds a bagwise.io.write",
    ),
    "np.load": (lambda: with_schema(evil("FunctionNode", "numpy.load")), "it holds a numpy.load"),
    "pickle.loads": (
        lambda: with_schema(evil("FunctionNode", "_pickle.loads")),
        "it holds a _pickle.loads",
    ),
    "a dict subclass": (
        lambda: with_schema(evil("DictNode", "os._Environ", key_types={}, content={})),
        "it holds a os._Environ",
    ),
    "a tree": (
        lambda: with_schema(evil("TreeNode", "sklearn.tree._tree.Tree")),
        "it holds a sklearn.tree._tree.Tree",
    ),
    "a renamed class": (
        lambda: with_schema(rename("bagwise.vocabulary", "bagwise.io.models")),
        "it holds a bagwise.io.models.Codebook",
    ),
    "a method shadowed": (
        lambda: with_schema(put("transform", plain("x"))),
        "gives Codebook a method 'transform' of its own",
    ),
    "no estimator": (
        lambda: with_schema(rename("sklearn.pipeline", "sklearn.nowhere")),
        "it holds a sklearn.nowhere.Pipeline",
    ),
    "codewords of text": (
        lambda: with_members(learned("codewords_", np.array([["a"]]))),
        "Codebook.codewords_ is no float64 array of shape",
    ),
    "codewords of another shape": (
        lambda: with_members(learned("codewords_", np.zeros((2, 3)))),
        "Codebook.codewords_ is no float64 array of shape",
    ),
    "codewords of NaN": (
        lambda: with_members(learned("codewords_", np.full((4, 3), np.nan))),
        "Codebook.codewords_ holds NaN or infinity",
    ),
    "usage of NaN": (
        lambda: with_members(learned("usage_", np.full(4, np.nan))),
        "Codebook.usage_ holds NaN or infinity",
    ),
    "n_codewords of text": (
        lambda: with_members(learned("n_codewords", "four")),
        "n_codewords is 'four'",
    ),
    "an unknown method": (lambda: with_members(learned("method", "magic")), "method is 'magic'"),
    "a negative number of features": (
        lambda: with_members(learned("n_features_in_", -3)),
        "Codebook.codewords_ is no float64",
    ),
    "rounds that never were": (
        lambda: with_members(learned("n_iter_", 10**9)),
        "Codebook.objective_ is no float64 array",
    ),
    "support vectors out of bounds": (
        lambda: with_members(of_svc("_n_support", lambda n: n + 10**6)),
        "its support vectors do not fit",
    ),
    "too few coefficients": (
        lambda: with_members(of_svc("_dual_coef_", lambda a: a[:, :-1].copy())),
        "its support vectors do not fit",
    ),
    "pickled objects in an array": (
        lambda: with_members(of_svc("_dual_coef_", lambda a: np.array([[0.0]]))),
        "its support vectors do not fit",
    ),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_a_tampered_file_is_refused_and_runs_nothing(tmp_path, monkeypatch, what):
    make, message = TAMPERED[what]
    monkeypatch.chdir(tmp_path)
    loaded = set(sys.modules)
    (tmp_path / "model").write_bytes(make())
    with pytest.raises(ValueError, match=message) as caught:
        load(tmp_path / "model")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "model"))
    assert caught.traceback[-1].path.parent.name == "io"
    assert not {"antigravity"} & (set(sys.modules) - loaded)
    assert [one.name for one in tmp_path.iterdir()] == ["model"]


def test_at_least_fifty_files_are_tampered_with_and_the_good_one_loads(tmp_path):
    assert len(TAMPERED) >= 50
    (tmp_path / "model").write_bytes(good_bytes())
    load(tmp_path / "model")
    (tmp_path / "model").write_bytes(with_members(lambda members: None))
    load(tmp_path / "model")
    (tmp_path / "model").write_bytes(with_schema(lambda schema: None))
    load(tmp_path / "model")


@pytest.mark.parametrize("seed", range(30))
def test_a_flipped_bit_is_seen(tmp_path, seed):
    rng = np.random.default_rng(seed)
    damaged = bytearray(good_bytes())
    damaged[rng.integers(len(damaged))] ^= 1 << rng.integers(8)
    (tmp_path / "model").write_bytes(damaged)
    with pytest.raises(ValueError, match="model: |model "):
        load(tmp_path / "model")


@pytest.mark.parametrize("seed", range(60))
def test_a_flipped_bit_under_a_right_checksum_loads_a_model_or_is_refused(tmp_path, seed):
    rng = np.random.default_rng(seed)
    payload = bytearray(good_bytes().split(b"\n", 1)[1])
    payload[rng.integers(len(payload))] ^= 1 << rng.integers(8)
    (tmp_path / "model").write_bytes(seal(bytes(payload)))
    try:
        model = load(tmp_path / "model")
    except ValueError as error:
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert isinstance(model[0], Codebook)
        model[:1].transform(BAGS)


def test_a_file_larger_than_memory_is_not_read(tmp_path, monkeypatch):
    from bagwise.io import models

    (tmp_path / "model").write_bytes(good_bytes())
    monkeypatch.setattr(models, "available_memory", lambda: 1000)
    with pytest.raises(ValueError, match="more than memory can take"):
        load(tmp_path / "model")
