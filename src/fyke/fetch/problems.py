"""libcurl's result codes, as the error classes that a page fails with."""

from typing import Final

import pycurl  # type: ignore[import-untyped]  # ships no types

from fyke.core.page import ErrorClass

__all__ = ["Problem", "explain"]

Problem = tuple[str, str]  # an ErrorClass and a message for people

TOO_LARGE: Final = 100  # CURLE_TOO_LARGE, which pycurl does not name

CLASSES: Final = {
    pycurl.E_URL_MALFORMAT: ErrorClass.INVALID_URL,
    pycurl.E_COULDNT_RESOLVE_HOST: ErrorClass.DNS,
    pycurl.E_COULDNT_CONNECT: ErrorClass.CONNECT,
    pycurl.E_OPERATION_TIMEDOUT: ErrorClass.TIMEOUT,
    pycurl.E_GOT_NOTHING: ErrorClass.CONNECTION_LOST,
    pycurl.E_SEND_ERROR: ErrorClass.CONNECTION_LOST,
    pycurl.E_RECV_ERROR: ErrorClass.CONNECTION_LOST,
    pycurl.E_PARTIAL_FILE: ErrorClass.CONNECTION_LOST,
    pycurl.E_ABORTED_BY_CALLBACK: ErrorClass.CONNECTION_LOST,
    pycurl.E_SSL_CONNECT_ERROR: ErrorClass.TLS,
    pycurl.E_PEER_FAILED_VERIFICATION: ErrorClass.TLS,
    pycurl.E_SSL_CERTPROBLEM: ErrorClass.TLS,
    pycurl.E_SSL_CIPHER: ErrorClass.TLS,
    pycurl.E_SSL_CACERT_BADFILE: ErrorClass.TLS,
    pycurl.E_SSL_INVALIDCERTSTATUS: ErrorClass.TLS,
    TOO_LARGE: ErrorClass.HEADERS_TOO_LARGE,
    pycurl.E_FILESIZE_EXCEEDED: ErrorClass.BODY_TOO_LARGE,
    pycurl.E_OUT_OF_MEMORY: ErrorClass.INTERNAL,
}


def explain(code: int, message: str) -> Problem:
    """The error class of a code; what has none of its own is a breach of the protocol."""
    said = message.lower()
    if "header" in said and ("too l" in said or "too many" in said):
        return ErrorClass.HEADERS_TOO_LARGE, message
    if "chunk hex-length" in said:  # it has the code of a lost connection
        return ErrorClass.PROTOCOL, message
    return CLASSES.get(code, ErrorClass.PROTOCOL), message or f"libcurl's error {code}"
