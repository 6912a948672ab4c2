"""A small Azure Functions host for machines without `func`: HTTP, blob and timer triggers of function.json apps.

It uses Microsoft's own V1 worker runtime, so loading, signature checks and converters are the real ones.
"""
