"""TLS: certificates are checked, and breaches of the protocol have their own class."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fyke.core.page import ErrorClass, Failed, Page, Request
from fyke.egress.guard import Guard
from fyke.fetch.client import HttpClient
from fyke.fetch.options import ClientOptions, Limits

LIMITS = Limits(connect=2, first_byte=2, total=3)
BODY = b"<title>Lamp</title>"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a key and a certificate for `shop.test`, signed by itself."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not installed")
    path = tmp_path_factory.mktemp("tls") / "shop.pem"
    key = path.with_suffix(".key")
    subject = ["-subj", "/CN=shop.test", "-addext", "subjectAltName=DNS:shop.test"]
    command = [program, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([*command, "-keyout", key, "-out", path], check=True, capture_output=True, timeout=60)
    path.write_text(path.read_text() + key.read_text())
    return path


@pytest.fixture
async def port(certificate: Path) -> AsyncIterator[int]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        length = len(BODY) + (50 if b"/short" in request else 0)
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n"
        writer.write(head.encode() + BODY)
        await writer.drain()
        if b"/short" in request:  # cut the connection without TLS's own good-bye
            writer.transport.abort()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    yield server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()


async def loopback(host: str) -> list[str]:
    return ["127.0.0.1"]


async def fetch(url: str, ca_file: Path | None) -> Page | Failed:
    options = ClientOptions(ca_file=str(ca_file) if ca_file else None)
    client = HttpClient(Guard(["127.0.0.0/8"], loopback), LIMITS, options=options)
    await client.start()
    try:
        return await client.fetch(Request(url))
    finally:
        await client.stop()


async def test_a_certificate_that_is_trusted_and_fits_is_taken(port: int, certificate: Path) -> None:
    page = await fetch(f"https://shop.test:{port}/", certificate)
    assert isinstance(page, Page), page
    assert page.body == BODY


async def test_one_that_is_not_trusted_is_refused(port: int) -> None:
    failed = await fetch(f"https://shop.test:{port}/", None)
    assert isinstance(failed, Failed)
    assert failed.error_class == ErrorClass.TLS


async def test_one_for_another_name_is_refused(port: int, certificate: Path) -> None:
    failed = await fetch(f"https://other.test:{port}/", certificate)
    assert isinstance(failed, Failed)
    assert failed.error_class == ErrorClass.TLS


async def test_a_connection_cut_in_the_body_is_lost(port: int, certificate: Path) -> None:
    failed = await fetch(f"https://shop.test:{port}/short", certificate)
    assert isinstance(failed, Failed)
    assert failed.error_class == ErrorClass.CONNECTION_LOST


async def test_a_handshake_cut_in_its_middle_fails_by_tls() -> None:
    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"\x16\x03\x03\x00\x7a\x02")  # the first bytes of a server's hello
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(cut, "127.0.0.1", 0)
    failed = await fetch(f"https://shop.test:{server.sockets[0].getsockname()[1]}/", None)
    assert isinstance(failed, Failed)
    assert failed.error_class == ErrorClass.TLS
    server.close()
    await server.wait_closed()
