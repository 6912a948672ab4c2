"""Bring the lake up to date on a cluster.

spark-submit --py-files throughline-0.1.0-py3-none-any.whl lake_job.py SOURCE … --lake URL
"""

import sys

from throughline.lake import main

sys.exit(main())
