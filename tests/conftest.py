"""What all tests share: fixtures live in tests/plugins, one file for each real part they start."""

pytest_plugins = [
    "tests.plugins.atlas",
    "tests.plugins.azurite",
    "tests.plugins.catalog",
    "tests.plugins.golden",
    "tests.plugins.package",
    "tests.plugins.spark",
]
