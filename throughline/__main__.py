"""`throughline` and `python -m throughline`: the command line."""

import sys

_EXTRAS = {
    "pyspark": "lake",
    "pysail": "lake",
    "pandas": "lake",
    "pyarrow": "lake",
    "azure.functions": "functions",
    "opentelemetry": "functions",
    "mcp": "mcp",
    "anyio": "mcp",
    "starlette": "dev",
    "uvicorn": "dev",
    "cronsim": "dev",
}
"""Which extra of the wheel brings a package that is not there."""


def main() -> None:
    """Run the command line. Ends with one sentence where a package is missing that an extra brings."""
    from throughline.cli.main import main as run  # noqa: PLC0415 - what it imports may be missing

    try:
        run()
    except ModuleNotFoundError as missing:
        name = missing.name or ""
        extra = next((extra for package, extra in _EXTRAS.items() if f"{name}.".startswith(f"{package}.")), None)
        if extra is None:
            raise
        sys.stderr.write(f"error: this command needs {name}: run pip install 'throughline[{extra}]'\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
