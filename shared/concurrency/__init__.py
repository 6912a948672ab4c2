"""Run work in parallel, share one execution between callers, and serialise work by key. Imports nothing of ours."""
