"""`python -m throughline.changes.comment github|azure FILE URL`: put a file as the one comment of a pull request.

The comment that an earlier push wrote is replaced; its first line tells it. URL lists the comments: GitHub's
`…/issues/NUMBER/comments` (REST API 2022-11-28) or the `…/pullRequests/ID/threads` of Azure DevOps (REST API 7.1). The
token is read from standard input, so that no list of processes has it.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import requests

from shared.governance.checks.breakage import MARKER

_SECONDS = 30
_PAGE = 100
_AZURE = {"api-version": "7.1"}


def _github(session: requests.Session, url: str, text: str) -> None:
    comments = (comment for page in _pages(session, url) for comment in page)
    number = next((comment["id"] for comment in comments if _is_ours(comment["body"])), None)
    if number is None:
        _sent(session, "POST", url, {"body": text})
    else:
        _sent(session, "PATCH", f"{url.rsplit('/', 2)[0]}/comments/{number}", {"body": text})


def _pages(session: requests.Session, url: str) -> Iterator[list[Any]]:
    number, page = 0, [None] * _PAGE
    while len(page) == _PAGE:
        number += 1
        page = _sent(session, "GET", url, params={"per_page": _PAGE, "page": number})
        yield page


def _azure(session: requests.Session, url: str, text: str) -> None:
    for thread in _sent(session, "GET", url, params=_AZURE)["value"]:
        for comment in thread["comments"]:
            if not comment.get("isDeleted") and _is_ours(comment.get("content")):
                place = f"{url}/{thread['id']}/comments/{comment['id']}"
                _sent(session, "PATCH", place, {"content": text}, params=_AZURE)
                return
    comment = {"parentCommentId": 0, "content": text, "commentType": "text"}
    _sent(session, "POST", url, {"comments": [comment], "status": "active"}, params=_AZURE)


def _is_ours(text: str | None) -> bool:
    return (text or "").startswith(MARKER)


def _sent(
    session: requests.Session, method: str, url: str, content: object = None, params: Mapping[str, Any] | None = None
) -> Any:
    """The answer's JSON. Raises requests.RequestException."""
    answer = session.request(method, url, json=content, params=params, timeout=_SECONDS)
    answer.raise_for_status()
    return answer.json()


SERVICES: Mapping[str, Callable[[requests.Session, str, str], None]] = {"github": _github, "azure": _azure}


def main() -> int:
    """Put the comment. Returns 1, with one sentence, where the service refuses or the file can't be read."""
    parser = argparse.ArgumentParser(description="Put a file as the one comment of a pull request.")
    parser.add_argument("service", choices=sorted(SERVICES))
    parser.add_argument("file", type=Path)
    parser.add_argument("url")
    options = parser.parse_args()
    with requests.Session() as session:
        session.trust_env = False  # a .netrc would replace the token
        session.headers["Authorization"] = f"Bearer {sys.stdin.readline().strip()}"
        try:
            SERVICES[options.service](session, options.url, options.file.read_text(encoding="utf-8"))
        except (requests.RequestException, OSError) as error:
            sys.stderr.write(
                f"the comment was not written: {error}. The token needs the right to write pull requests\n"
            )
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
