"""Answer with the route's parameters through an out parameter, by a helper from the app's own package."""

import azure.functions as func
from sample_shared import join


def main(req: func.HttpRequest, res: func.Out[func.HttpResponse], context: func.Context) -> None:
    res.set(func.HttpResponse(join(context.function_name, req.route_params["id"], req.route_params["rest"])))
