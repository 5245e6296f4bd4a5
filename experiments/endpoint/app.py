"""The HTTP side: `/v1/chat/completions` and `/v1/models`; told to stop, it finishes what is in flight."""

from contextlib import AsyncExitStack
from socket import AF_INET, AF_INET6, create_server, socket

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from experiments.config import RunConfig
from experiments.endpoint.asked import Refused
from experiments.endpoint.service import Service
from ttc.errors import BackendUnavailable, UserError

MOST_BYTES = 64 * 1024**2
"""Of a request; images are most of it."""


class Server(uvicorn.Server):
    """Ends by itself where the engine cannot go on."""

    def __init__(self, config: RunConfig) -> None:
        """Raises UserError as `Service` does."""
        self.service = Service(config)
        self.failure: UserError | None = None
        """Why it ended."""
        routes = [
            Route("/v1/models", self._models),
            Route("/v1/chat/completions", self._complete, methods=["POST"]),
        ]
        app = Starlette(routes=routes, exception_handlers={404: _unknown, 405: _unknown})
        super().__init__(uvicorn.Config(app, log_level="warning", lifespan="off"))
        self._opened = AsyncExitStack()

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """See `uvicorn.Server.startup`; says where it listens, which a port of 0 leaves open.

        Raises:
            UserError: the bank cannot be made. As an event of the app's lifespan it would come with a traceback.
        """
        await self._opened.enter_async_context(self.service)
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            print(f"serving {', '.join(self.service.strategies)} at http://{host}:{port}/v1", flush=True)

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """See `uvicorn.Server.shutdown`; what is in flight is finished, unless a second Ctrl-C comes."""
        await super().shutdown(sockets)
        if not self.force_exit:
            await self._opened.aclose()

    async def _models(self, request: Request) -> JSONResponse:
        models = [{"id": name, "object": "model", "created": 0, "owned_by": "ttc"} for name in self.service.strategies]
        return JSONResponse({"object": "list", "data": models})

    async def _complete(self, request: Request) -> JSONResponse:
        try:
            return JSONResponse(await self.service.complete(await _body(request)))
        except Refused as refused:
            return JSONResponse(refused.body, status_code=refused.status)
        except UserError as error:
            if not isinstance(error, BackendUnavailable) and error is not self.service.failure:
                return _error(error, 500)
            self.failure, self.should_exit = error, True
            return _error(error, 503)


def listening(host: str, port: int) -> socket:
    """A socket to serve at, taken before anything heavy is opened. Raises UserError where it is not to be had."""
    try:
        return create_server((host, port), family=AF_INET6 if ":" in host else AF_INET)
    except OSError as error:
        why = str(error.strerror).partition(" (")[0]  # it repeats the address in brackets
        raise UserError(f"--host {host} --port {port}: {why}; name another, --port 0 takes a free one") from error


def _error(error: UserError, status: int) -> JSONResponse:
    return JSONResponse(Refused(str(error), status=status).body, status_code=status)


async def _unknown(request: Request, error: Exception) -> JSONResponse:
    status = getattr(error, "status_code", 404)
    asked = f"{request.method} {request.url.path}"
    refused = Refused(f"{asked}: there are GET /v1/models and POST /v1/chat/completions", status=status)
    return JSONResponse(refused.body, status_code=status)


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise Refused(f"a request may have {MOST_BYTES:,} bytes; send fewer or smaller images", status=413)
    return bytes(body)
