"""What is no request that can be read is answered like any other: in the envelope, with an id."""

import sys
from http import HTTPStatus
from typing import Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from fyke.api.boundary import NOT_STORED, SECURITY, request_id
from fyke.api.envelope import REQUEST_ID, problem

__all__ = ["Protocol"]

LONGEST_URL: Final = 65_535  # bytes: what the parser can say where in it something stands


class Protocol(HttpToolsProtocol):
    """uvicorn's, which answers in plain text."""

    def send_400_response(self, msg: str) -> None:
        """Called while the parser's error is handled."""
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            begun = cycle.response_started
            cycle.disconnected = True  # whoever reads the body, or answers, need not go on
            cycle.message_event.set()
            if begun:
                self.transport.close()
                return
        status, code, message = self._fault(sys.exc_info()[1])
        given = dict(self.headers or ())  # as far as they have come
        identity = request_id(given.get(b"x-request-id", b"").decode("latin-1"))
        before = REQUEST_ID.set(identity)
        answer = problem(status, code, message, None, SECURITY | NOT_STORED)
        REQUEST_ID.reset(before)
        answer.headers["X-Request-ID"] = identity
        answer.headers["Connection"] = "close"
        head = [*self.server_state.default_headers, *answer.raw_headers]
        lines = [name + b": " + value + b"\r\n" for name, value in head]
        self.transport.write(b"".join([STATUS_LINE[status], *lines, b"\r\n", bytes(answer.body)]))
        self.transport.close()

    def _fault(self, error: BaseException | None) -> tuple[int, str, str]:
        if len(getattr(self, "url", b"")) > LONGEST_URL:
            status = HTTPStatus.REQUEST_URI_TOO_LONG
            return status, "uri_too_long", f"the URL is longer than {LONGEST_URL} bytes"
        reason = str(error) if error is not None and "callback" not in str(error) else "it cannot be parsed"
        return HTTPStatus.BAD_REQUEST, "bad_request", f"this is no HTTP request: {reason}"
