"""Prices and currencies in the notations of the world: an amount as a Decimal, a currency by ISO 4217."""

import re
from decimal import Decimal, InvalidOperation

from price_parser import Price

from fyke.extract.currencies import ISO, SYMBOLS, THREE_DECIMALS

__all__ = ["amount", "currency", "number"]

# What machines write, and most people: at most two decimals after a point. Three may be thousands.
SIMPLE = re.compile(r"(\d{1,12})(?:\.(\d{1,2}|\d{4,9}))?", re.ASCII).fullmatch
MACHINE = re.compile(r"\d{1,12}(?:\.\d{1,9})?(?:[eE][+-]?\d)?", re.ASCII).fullmatch
NEGATIVE = re.compile(r"\D{0,4}[-−]\s?\D{0,4}\d").match
LARGEST = Decimal(10) ** 12
CENTS = Decimal("0.01")
FIGURES = "0123456789 ,'’-\xa0\u202f"
LONGEST = 100  # characters; a longer text is no price


def amount(value: object, currency: str | None = None) -> Decimal | None:
    """The amount that a JSON number or a text such as "1.299,00 €" means.

    Equal amounts get equal digits: none or at least two after the point."""
    if isinstance(value, str) and (simple := SIMPLE(value.strip())):
        whole, part = simple.groups()
        if part is None or not (part := part.rstrip("0")):
            return Decimal(int(whole))
        return Decimal(f"{whole}.{part}0" if len(part) == 1 else f"{whole}.{part}")
    read = _read(value, currency)
    if read is None or (cents := read.normalize()).as_tuple().exponent != -1:
        return read
    return cents.quantize(CENTS)


def number(value: object) -> Decimal | None:
    """The number that a JSON number or a text means, with no more digits than it needs."""
    if isinstance(value, str) and (simple := SIMPLE(value.strip())):
        whole, part = simple.groups()
        part = part.rstrip("0") if part else ""
        return Decimal(f"{whole}.{part}") if part else Decimal(int(whole))
    return _read(value, None)


def currency(value: object, beside: object = None) -> str | None:
    """The ISO code a code or symbol stands for, or that the price text `beside` it shows."""
    if isinstance(value, str) and (found := _code(value.strip())):
        return found
    if not isinstance(beside, str) or len(beside) > LONGEST:
        return None
    mark = beside.strip(FIGURES)
    if not mark or SIMPLE(mark):
        return None
    return _code(mark) or _code(mark.strip(FIGURES + ".")) or _code(Price.fromstring(beside).currency or "")


def _code(mark: str) -> str | None:
    mark = mark.upper()
    return mark if mark in ISO else SYMBOLS.get(mark)


def _read(value: object, currency: str | None) -> Decimal | None:
    if isinstance(value, float | int) and not isinstance(value, bool):
        return _settled(Decimal(repr(value)))
    if not isinstance(value, str) or len(value) > LONGEST:
        return None
    text = value.strip()
    if MACHINE(text) and (text.startswith("0.") or "e" in text.lower() or currency in THREE_DECIMALS):
        return _settled(Decimal(text))
    if NEGATIVE(text):
        return None
    try:
        found = Price.fromstring(text).amount
    except (InvalidOperation, ValueError):  # digits that Decimal takes for none
        return None
    return None if found is None else _settled(found)


def _settled(number: Decimal) -> Decimal | None:
    """`number` with no more digits than it needs; None when it is none that a page means."""
    if not number.is_finite() or number < 0 or number >= LARGEST:
        return None
    if number == number.to_integral_value():
        return Decimal(int(number))
    return number.normalize()
