"""What commands print and ask, and how they end."""
