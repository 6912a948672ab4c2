"""The built-in types of a catalog: the base model, and Purview's types for our stores.

All definitions are our own. `builtin_typedefs` gives them in Atlas' JSON form.
"""

from throughline.local.catalog.types.build import builtin_typedefs, plain_typedefs

__all__ = ["builtin_typedefs", "plain_typedefs"]
