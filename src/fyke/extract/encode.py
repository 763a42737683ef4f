"""Records as they are stored: JSON with a stable order, so that equal records give equal bytes."""

from decimal import Decimal

import msgspec

from fyke.core.record import Product, Record, Seo

__all__ = ["data_from", "data_json", "seo_from", "seo_json"]

_encode = msgspec.json.Encoder(decimal_format="number", order="deterministic").encode
_decode_data = msgspec.json.Decoder(Product, float_hook=Decimal).decode
_decode_seo = msgspec.json.Decoder(Seo).decode


def data_json(record: Record) -> bytes:
    """The target's data; a Decimal is a number, what is missing is left out."""
    return _encode(record.data)


def seo_json(record: Record) -> bytes:
    """The SEO fields; what is missing is left out."""
    return _encode(record.seo)


def data_from(stored: bytes) -> Product:
    """What `data_json` wrote."""
    return _decode_data(stored)


def seo_from(stored: bytes) -> Seo:
    """What `seo_json` wrote."""
    return _decode_seo(stored)
