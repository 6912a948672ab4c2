"""Connect to an account: endpoints, dialects, collections, types, and calls with retries and a rate limit."""
