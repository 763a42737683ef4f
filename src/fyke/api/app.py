"""The application: layers outside, routers inside."""

from http import HTTPStatus

from fastapi import APIRouter, FastAPI, Response
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from fyke import __version__
from fyke.api import (
    bodies,
    exports,
    health,
    jobs,
    keys,
    metrics,
    openapi,
    problems,
    reference,
    results,
    stream,
)
from fyke.api.auth import Keys
from fyke.api.boundary import BodyLimits, Boundary, RequestMeter
from fyke.api.envelope import problem
from fyke.api.kept import Kept
from fyke.api.services import Services

__all__ = ["create_app"]


class Cors(CORSMiddleware):
    """What other origins may do; one that may not is told so in the envelope, too."""

    def preflight_response(self, request_headers: Headers) -> Response:
        answer = super().preflight_response(request_headers)
        if answer.status_code < HTTPStatus.BAD_REQUEST:
            return answer
        headers = {name: value for name, value in answer.headers.items() if not name.startswith("content-")}
        return problem(answer.status_code, "cors_refused", bytes(answer.body).decode(), None, headers)


def create_app(services: Services) -> FastAPI:
    """The API over parts that are started and stopped by whoever made them."""
    app = FastAPI(
        title="Fyke",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        redirect_slashes=False,
        middleware=[
            Middleware(Boundary, meter=RequestMeter(services.registry)),
            Middleware(
                Cors,
                allow_origins=services.settings.cors_origins,
                allow_methods=["GET", "POST", "DELETE"],
                allow_headers=["*"],
                expose_headers=["X-Request-ID", "Idempotency-Replayed", "Location", "Content-Disposition"],
                max_age=3600,
            ),
            Middleware(BodyLimits),
        ],
    )
    app.state.services = services
    app.state.keys = Keys(services.database)
    app.state.fleet = Kept(lambda: metrics.read_fleet(services.database), metrics.KEPT)
    app.state.health = Kept(lambda: health.examine(services), health.KEPT)
    v1 = APIRouter(prefix="/api/v1")
    for router in (
        jobs.reading,
        jobs.submitting,
        results.router,
        bodies.router,
        stream.router,
        exports.reading,
        exports.submitting,
        keys.router,
    ):
        v1.include_router(router)
    app.include_router(v1)
    for router in (health.router, metrics.router, reference.router):
        app.include_router(router)
    problems.install(app)
    openapi.install(app)
    return app
