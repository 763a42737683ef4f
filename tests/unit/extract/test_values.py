"""Prices, currencies, availability, texts and URLs, each by itself."""

from decimal import Decimal

import pytest

from fyke.extract.links import Base
from fyke.extract.money import amount, currency, number
from fyke.extract.stock import availability
from fyke.extract.text import LONGEST, fold, plain, well_formed


@pytest.mark.parametrize(
    ("written", "digits"),
    [
        ("19.99", "19.99"),
        ("19.9", "19.90"),
        ("19.90", "19.90"),
        ("19.9900", "19.99"),
        ("20.00", "20"),
        ("0", "0"),
        ("007.50", "7.50"),
        (" 5 ", "5"),
        (19.9, "19.90"),
        (1e3, "1000"),
        (5, "5"),
        ("1e3", "1000"),
        ("1,299.00", "1299"),
        ("1.299,00", "1299"),
        ("1.299,95 €", "1299.95"),
        ("1 299,50 kr", "1299.50"),
        ("1\xa0299,50", "1299.50"),
        ("1'299.50", "1299.50"),
        ("1,23,456.00", "123456"),
        ("$1,299", "1299"),
        ("1.299", "1299"),
        ("EUR 5,-", "5"),
        ("from 12.50", "12.50"),
        ("0.125", "0.125"),
    ],
)
def test_amount(written: object, digits: str) -> None:
    assert str(amount(written)) == digits


@pytest.mark.parametrize(
    "written",
    [
        "",
        " ",
        "call us",
        "-5",
        "€ -5",
        -5,
        None,
        True,
        [],
        {},
        float("inf"),
        float("nan"),
        1e15,
        "9" * 50,
        "x" * 500,
    ],
)
def test_what_is_no_amount_is_none(written: object) -> None:
    assert amount(written) is None


def test_three_decimals_are_decimals_where_the_currency_has_them() -> None:
    assert amount("1.250", "KWD") == Decimal("1.25")
    assert amount("1.250", "EUR") == Decimal(1250)


def test_number_keeps_no_more_digits_than_needed() -> None:
    assert [str(number(value)) for value in ("4.50", 4.5, "4", 10.0)] == ["4.5", "4.5", "4", "10"]


@pytest.mark.parametrize(
    ("value", "beside", "code"),
    [
        ("EUR", None, "EUR"),
        (" eur ", None, "EUR"),
        ("€", None, "EUR"),
        ("zł", None, "PLN"),
        ("XXX", None, None),
        (None, "12,50 €", "EUR"),
        (None, "$5", "USD"),
        (None, "R$ 5,00", "BRL"),
        (None, "Rs. 1,23,456", "INR"),
        (None, "1 299,00 Kč", "CZK"),
        (None, "CHF 12.50", "CHF"),
        (None, "12.50", None),
        ("€", "$5", "EUR"),
        ("bogus", "$5", "USD"),
        (5, None, None),
        (None, 5, None),
    ],
)
def test_currency(value: object, beside: object, code: str | None) -> None:
    assert currency(value, beside) == code


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("https://schema.org/InStock", "in_stock"),
        ("http://schema.org/OutOfStock", "out_of_stock"),
        ("schema:PreOrder", "preorder"),
        ("BackOrder", "backorder"),
        ("https://schema.org/Discontinued", "discontinued"),
        ("LimitedAvailability", "limited"),
        ("https://schema.org/SoldOut", "out_of_stock"),
        ("InStoreOnly", "in_stock"),
        ("in stock", "in_stock"),
        ("IN_STOCK", "in_stock"),
        ("instock", "in_stock"),
        ("out of stock", "out_of_stock"),
        ("available for order", "in_stock"),
        ("Not available", "out_of_stock"),
        ("Only 3 left in stock", "limited"),
        ("Nicht auf Lager", "out_of_stock"),
        ("Auf Lager, Lieferung morgen", "in_stock"),
        ("En rupture de stock", "out_of_stock"),
        ("Agotado", "out_of_stock"),
        ("Pre-order now", "preorder"),
        ("No longer available", "discontinued"),
        ("ships in a while", None),
        ("", None),
        (None, None),
        (3, None),
        (["InStock"], None),
    ],
)
def test_availability(written: object, name: str | None) -> None:
    assert availability(written) == name


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (" a \n b ", "a b"),
        ("Tea &amp; cake", "Tea & cake"),
        ("<b>Bold</b> tea", "Bold tea"),
        ("1 < 2", "1 < 2"),
        ("a\0b", "ab"),
        ("\0", None),
        (" ", None),
        (12, "12"),
        (1.5, "1.5"),
        (True, None),
        (None, None),
        ({}, None),
    ],
)
def test_plain(value: object, text: str | None) -> None:
    assert plain(value) == text


def test_fold() -> None:
    assert fold(" a\t\n b\xa0c ") == "a b c"
    assert fold("\n") is None
    assert fold(None) is None
    assert fold("a" * (LONGEST - 1) + "   b") == "a" * (LONGEST - 1)


def test_well_formed() -> None:
    assert well_formed("plain") == "plain"
    assert well_formed("caf\xe9 €") == "caf\xe9 €"
    assert well_formed("a \ud800 b €") == "a ? b €"


@pytest.mark.parametrize(
    ("url", "absolute"),
    [
        ("https://a.example/x?y=1", "https://a.example/x?y=1"),
        ("/x", "https://shop.example/x"),
        ("x", "https://shop.example/d/x"),
        ("//a.example/x", "https://a.example/x"),
        ("/\\a.example/x", "https://a.example/x"),
        ("?q", "https://shop.example/d/e?q"),
        ("/a/../b/./c", "https://shop.example/b/c"),
        ("HTTP://A.example", "http://a.example/"),
        ("https://a.example:443/x#y", "https://a.example/x"),
        (" /x\n", "https://shop.example/x"),
        ("/a b", "https://shop.example/a%20b"),
        ("/%2e%2e/x", "https://shop.example/x"),
        ("data:image/png;base64,AA", None),
        ("mailto:a@example.org", None),
        ("https://", None),
        ("/" + "a" * 9000, None),
        ("", None),
        (None, None),
        (7, None),
    ],
)
def test_absolute(url: object, absolute: str | None) -> None:
    assert Base("https://shop.example/d/e").absolute(url) == absolute
