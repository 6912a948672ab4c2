"""What tests of the lake need of pytest."""

import pytest

OF_SPARK = [
    pytest.mark.filterwarnings("ignore:distutils Version classes are deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:is_\\w+_dtype is deprecated:DeprecationWarning"),
]
"""Marks for tests that run Spark: what PySpark 3.5 itself warns of, and we can't help."""
