"""Scripts for spark-submit, each with its truth written by hand beside it; nothing imports them."""
