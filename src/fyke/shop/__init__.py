"""The built-in demo shop."""

from fyke.shop.catalogue import Changes
from fyke.shop.shop import Shop

__all__ = ["Changes", "Shop"]
