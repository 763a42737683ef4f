"""Prices and currencies in the notations of the world: an amount as a Decimal, a currency by ISO 4217."""

import re
from decimal import Decimal, InvalidOperation

from price_parser import Price

from fyke.extract.currencies import ISO, SYMBOLS, THREE_DECIMALS

__all__ = ["amount", "currency"]

# What machines write, and most people: at most two decimals after a point. Three may be thousands.
SIMPLE = re.compile(r"(\d{1,12})(?:\.(\d{1,2}|\d{4,9}))?").fullmatch
LARGEST = Decimal(10) ** 12
CENTS = Decimal("0.01")


def amount(value: object, currency: str | None = None) -> Decimal | None:
    """The amount that a JSON number or a text such as "1.299,00 €" means.

    Equal amounts get equal digits: none or at least two after the point."""
    if isinstance(value, float | int) and not isinstance(value, bool):
        return _settled(Decimal(repr(value)))
    if not isinstance(value, str):
        return None
    text = value.strip()
    if simple := SIMPLE(text):
        whole, part = simple.groups()
        if part is None or not (part := part.rstrip("0")):
            return Decimal(int(whole))
        return Decimal(f"{whole}.{part}0" if len(part) == 1 else f"{whole}.{part}")
    if currency in THREE_DECIMALS:
        try:
            return _settled(Decimal(text))
        except InvalidOperation:
            pass  # a notation for people, not for machines
    return _written(text)


def currency(value: object, beside: object = None) -> str | None:
    """The ISO code a code or symbol stands for, or that the price text `beside` it shows."""
    if isinstance(value, str):
        mark = value.strip().upper()
        if mark in ISO:
            return mark
        if found := SYMBOLS.get(mark):
            return found
    if isinstance(beside, str) and not SIMPLE(beside.strip()):
        shown = Price.fromstring(beside[:100]).currency
        if shown is not None:
            mark = shown.upper()
            return mark if mark in ISO else SYMBOLS.get(mark)
    return None


def _written(text: str) -> Decimal | None:
    """A price as a person wrote it; a sentence is none."""
    if len(text) > 100:
        return None
    try:
        found = Price.fromstring(text).amount
    except (InvalidOperation, ValueError):  # digits of other scripts, in numbers Decimal cannot read
        return None
    return None if found is None else _settled(found)


def _settled(number: Decimal) -> Decimal | None:
    """`number` with no more digits than it needs; None when no price can be that."""
    if not number.is_finite() or number < 0 or number >= LARGEST:
        return None
    if number == number.to_integral_value():
        return Decimal(int(number))
    number = number.normalize()
    if number.as_tuple().exponent == -1:
        return number.quantize(CENTS)
    return number
