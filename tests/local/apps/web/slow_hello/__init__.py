"""Block its thread for half a second."""

import logging
import time

import azure.functions as func


def main(req: func.HttpRequest) -> func.HttpResponse:
    logging.getLogger(__name__).info("slow on two\nlines for %s", req.method)
    time.sleep(0.5)
    return func.HttpResponse("slow")
