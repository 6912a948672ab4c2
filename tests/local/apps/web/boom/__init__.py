"""Always fails."""

import azure.functions as func


def main(req: func.HttpRequest) -> func.HttpResponse:
    message = f"secret detail of {req.method}"
    raise RuntimeError(message)
