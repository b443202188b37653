"""Settings that must stand before NumPy and SciPy are loaded."""

import os

# So that no check of scikit-learn on array API input is skipped.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
