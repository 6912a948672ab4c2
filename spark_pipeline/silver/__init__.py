"""Silver: merged runs, what each says about its processes, and what of that lasts.

Imports `bronze`, `tables` and `engine`.
"""

from spark_pipeline.silver.refinement import Meaning, refine
from spark_pipeline.silver.run_merging import merged_runs, touched_runs
from spark_pipeline.silver.translation import translated
from spark_pipeline.silver.translation_cache import MOST

__all__ = ["MOST", "Meaning", "merged_runs", "refine", "touched_runs", "translated"]
