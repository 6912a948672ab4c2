"""What `requests` raises if a request gets no answer."""

import requests
from urllib3.exceptions import LocationParseError

NO_ANSWER = (requests.RequestException, LocationParseError)
"""The second is urllib3's for a host name that cannot exist, such as `a..b`: requests lets it pass."""
