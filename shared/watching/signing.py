"""The signature of a webhook's request, by which the receiver recognises the sender.

`Throughline-Signature: t=1764000000,v1=HEX`: HMAC-SHA256, by the shared secret, of the seconds, a dot and the body. A
receiver computes it again, compares both in constant time, and refuses old times.
"""

import hashlib
import hmac
import re

SIGNATURE = "Throughline-Signature"
MESSAGE = "Throughline-Message"
"""The header with the message's id: a message may come twice where an answer was lost, with the same id."""
MAX_AGE = 300
"""Seconds after which a receiver refuses a signature."""
_FORM = re.compile(r"t=(\d{1,12}),v1=([0-9a-f]{64})")


def signature(secret: str, body: bytes, seconds: int) -> str:
    """The header's value for this body, sent at this time (seconds since 1970)."""
    digest = hmac.new(secret.encode(), b"%d." % seconds + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={digest}"


def verified(secret: str, body: bytes, header: str, now: int) -> bool:
    """Whether a header is the signature of this body, made at most MAX_AGE seconds before or after `now`."""
    found = _FORM.fullmatch(header)
    if not found or abs(now - int(found[1])) > MAX_AGE:
        return False
    return hmac.compare_digest(header, signature(secret, body, int(found[1])))
