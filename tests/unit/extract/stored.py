"""What is read back of records as they are stored."""

from decimal import Decimal

import msgspec

from fyke.core.record import Product, Seo

__all__ = ["data_from", "seo_from"]

data_from = msgspec.json.Decoder(Product, float_hook=Decimal).decode
seo_from = msgspec.json.Decoder(Seo).decode
