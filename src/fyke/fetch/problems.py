"""libcurl's result codes, as the error classes that a page fails with."""

from typing import Final

import pycurl  # type: ignore[import-untyped]  # ships no types

from fyke.core.page import ErrorClass

__all__ = ["Problem", "explain"]

Problem = tuple[str, str]  # an ErrorClass and a message for people

# Codes that pycurl does not name.
WEIRD_SERVER_REPLY: Final = 8
RECURSIVE_API_CALL: Final = 93
AUTH_ERROR: Final = 94
UNRECOVERABLE_POLL: Final = 99
TOO_LARGE: Final = 100

# The sentence is for when libcurl says nothing of its own.
CODES: Final[dict[int, Problem]] = {
    pycurl.E_UNSUPPORTED_PROTOCOL: (
        ErrorClass.PROTOCOL,
        "what came is not HTTP of a kind that is understood",
    ),
    pycurl.E_FAILED_INIT: (ErrorClass.INTERNAL, "the HTTP library could not be set up"),
    pycurl.E_URL_MALFORMAT: (ErrorClass.INVALID_URL, "the URL cannot be used"),
    pycurl.E_NOT_BUILT_IN: (ErrorClass.INTERNAL, "the HTTP library lacks a part that is needed"),
    pycurl.E_COULDNT_RESOLVE_PROXY: (ErrorClass.DNS, "the proxy has no address"),
    pycurl.E_COULDNT_RESOLVE_HOST: (ErrorClass.DNS, "the host has no address"),
    pycurl.E_COULDNT_CONNECT: (ErrorClass.CONNECT, "no connection came about"),
    pycurl.E_INTERFACE_FAILED: (ErrorClass.CONNECT, "no connection can be made from this machine's address"),
    pycurl.E_NO_CONNECTION_AVAILABLE: (ErrorClass.CONNECT, "no connection is free"),
    WEIRD_SERVER_REPLY: (ErrorClass.PROTOCOL, "what came is no proper HTTP"),
    pycurl.E_HTTP2: (ErrorClass.PROTOCOL, "what came is no proper HTTP/2"),
    pycurl.E_PARTIAL_FILE: (
        ErrorClass.CONNECTION_LOST,
        "the connection was closed in the middle of the body",
    ),
    pycurl.E_GOT_NOTHING: (ErrorClass.CONNECTION_LOST, "the connection was closed without an answer"),
    pycurl.E_SEND_ERROR: (ErrorClass.CONNECTION_LOST, "the connection broke while the request was sent"),
    pycurl.E_SEND_FAIL_REWIND: (
        ErrorClass.CONNECTION_LOST,
        "the connection broke while the request was sent",
    ),
    pycurl.E_RECV_ERROR: (ErrorClass.CONNECTION_LOST, "the connection broke while the answer came"),
    pycurl.E_AGAIN: (ErrorClass.CONNECTION_LOST, "the connection was not ready"),
    pycurl.E_ABORTED_BY_CALLBACK: (ErrorClass.CONNECTION_LOST, "it was given up"),
    pycurl.E_OPERATION_TIMEDOUT: (ErrorClass.TIMEOUT, "not done in time"),
    pycurl.E_SSL_CONNECT_ERROR: (ErrorClass.TLS, "the TLS handshake failed"),
    pycurl.E_PEER_FAILED_VERIFICATION: (ErrorClass.TLS, "the certificate is not one to trust"),
    pycurl.E_SSL_CERTPROBLEM: (ErrorClass.TLS, "the client's certificate cannot be used"),
    pycurl.E_SSL_CIPHER: (ErrorClass.TLS, "there is no cipher that both sides know"),
    pycurl.E_SSL_CACERT_BADFILE: (ErrorClass.TLS, "the file of certificate authorities cannot be read"),
    pycurl.E_SSL_CRL_BADFILE: (ErrorClass.TLS, "the list of revoked certificates cannot be read"),
    pycurl.E_SSL_ISSUER_ERROR: (ErrorClass.TLS, "the certificate's issuer is not the one expected"),
    pycurl.E_SSL_INVALIDCERTSTATUS: (ErrorClass.TLS, "the certificate's status is not valid"),
    pycurl.E_SSL_PINNEDPUBKEYNOTMATCH: (ErrorClass.TLS, "the certificate's key is not the one expected"),
    pycurl.E_SSL_ENGINE_NOTFOUND: (ErrorClass.TLS, "TLS cannot be set up on this machine"),
    pycurl.E_SSL_ENGINE_SETFAILED: (ErrorClass.TLS, "TLS cannot be set up on this machine"),
    pycurl.E_SSL_ENGINE_INITFAILED: (ErrorClass.TLS, "TLS cannot be set up on this machine"),
    pycurl.E_USE_SSL_FAILED: (ErrorClass.TLS, "the server does not speak TLS"),
    pycurl.E_SSL_SHUTDOWN_FAILED: (ErrorClass.CONNECTION_LOST, "the TLS connection was not closed properly"),
    AUTH_ERROR: (ErrorClass.PROTOCOL, "the server asks for a log-in of a kind that is not understood"),
    pycurl.E_TOO_MANY_REDIRECTS: (ErrorClass.TOO_MANY_REDIRECTS, "there are too many redirects"),
    TOO_LARGE: (ErrorClass.HEADERS_TOO_LARGE, "the headers are too large"),
    pycurl.E_FILESIZE_EXCEEDED: (ErrorClass.BODY_TOO_LARGE, "the body is too large"),
    pycurl.E_BAD_CONTENT_ENCODING: (
        ErrorClass.BAD_ENCODING,
        "the answer is packed in a way that is not known",
    ),
    pycurl.E_WRITE_ERROR: (ErrorClass.INTERNAL, "what came could not be taken"),
    pycurl.E_READ_ERROR: (ErrorClass.INTERNAL, "what was to be sent could not be read"),
    pycurl.E_OUT_OF_MEMORY: (ErrorClass.INTERNAL, "the memory is used up"),
    pycurl.E_BAD_FUNCTION_ARGUMENT: (ErrorClass.INTERNAL, "the HTTP library was called wrongly"),
    pycurl.E_UNKNOWN_OPTION: (ErrorClass.INTERNAL, "the HTTP library lacks an option that is needed"),
    RECURSIVE_API_CALL: (ErrorClass.INTERNAL, "the HTTP library was called wrongly"),
    UNRECOVERABLE_POLL: (ErrorClass.INTERNAL, "this machine could not wait for connections"),
}
OTHER: Final = (ErrorClass.PROTOCOL, "the answer could not be understood")

# What libcurl says in terms of its own, and what it comes to. The first that fits holds.
SAYINGS: Final[tuple[tuple[str, Problem], ...]] = (
    # The trailers of a chunked body have one buffer, and are short of memory when it is full.
    ("out of memory in chunked", (ErrorClass.HEADERS_TOO_LARGE, "a header after the body is too long")),
    ("too many response headers", (ErrorClass.HEADERS_TOO_LARGE, "there are too many headers")),
    ("too large response headers", (ErrorClass.HEADERS_TOO_LARGE, "the headers are too large")),
    ("trailers exceeded", (ErrorClass.HEADERS_TOO_LARGE, "the headers after the body are too large")),
    ("chunk hex-length", (ErrorClass.PROTOCOL, "the length of a chunk is no number that can be read")),
    ("in chunked-encoding", (ErrorClass.PROTOCOL, "the chunks of the body are malformed")),
    ("http/0.9", (ErrorClass.PROTOCOL, "the answer begins without a status line")),
)


def explain(code: int, message: str) -> Problem:
    """The error class of a code, and what to tell people; what has no class of its own is a breach of the
    protocol."""
    said = message.lower()
    for words, problem in SAYINGS:
        if words in said:
            return problem
    error_class, sentence = CODES.get(code) or (OTHER[0], f"{OTHER[1]} (libcurl's code {code})")
    if "header" in said and ("too l" in said or "too many" in said):
        error_class = ErrorClass.HEADERS_TOO_LARGE
    return error_class, message or sentence
