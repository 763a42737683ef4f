"""Records as they are stored: JSON with a stable order, so that equal records give equal bytes."""

import msgspec

from fyke.core.record import Record

__all__ = ["data_json", "seo_json"]

_encode = msgspec.json.Encoder(decimal_format="number", order="deterministic").encode


def data_json(record: Record) -> bytes:
    """The target's data; a Decimal is a number, what is missing is left out."""
    return _encode(record.data)


def seo_json(record: Record) -> bytes:
    """The SEO fields; what is missing is left out."""
    return _encode(record.seo)
