"""Code that functions share, imported by its own name, since the root is on the path."""


def join(*parts: str) -> str:
    """Join with bars."""
    return "|".join(parts)
