"""Answer with the route's parameters by a helper from the app's own package."""

import azure.functions as func
from sample_shared import join


def main(req: func.HttpRequest, context: func.Context) -> func.HttpResponse:
    return func.HttpResponse(join(context.function_name, req.route_params["id"], req.route_params["rest"]))
