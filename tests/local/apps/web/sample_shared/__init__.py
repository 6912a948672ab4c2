"""What functions share: imported by its own name, as the root is on the path."""


def join(*parts: str) -> str:
    """Join with bars."""
    return "|".join(parts)
