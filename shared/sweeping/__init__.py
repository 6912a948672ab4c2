"""What the sweeper does once a minute: it folds what triggers left, closes applications that are over, archives their
events, and forgets by rule.
"""
