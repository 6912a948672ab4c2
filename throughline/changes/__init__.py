"""What a range of git changes: the tables and columns that SQL files and dbt models no longer write as before."""
