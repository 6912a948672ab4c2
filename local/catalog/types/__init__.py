"""The types that a catalog knows from the start: the base model and what Purview has built in for our stores.

All definitions are our own. `builtin_typedefs` gives them in Atlas' JSON form.
"""

from local.catalog.types.build import builtin_typedefs, plain_typedefs

__all__ = ["builtin_typedefs", "plain_typedefs"]
