"""The stored form of a record."""

from decimal import Decimal

from fyke.core.record import Product, Record, Seo
from fyke.extract import extract
from fyke.extract.encode import data_json, seo_json
from tests.unit.extract.generator import page
from tests.unit.extract.stored import data_from, seo_from


def record(data: Product | None = None, seo: Seo | None = None) -> Record:
    return Record(title=None, h1=None, text_hash="", data=data or Product(), seo=seo or Seo())


def test_missing_fields_are_left_out() -> None:
    assert data_json(record()) == b"{}"
    assert seo_json(record()) == b"{}"


def test_decimals_are_numbers_written_as_they_are() -> None:
    data = Product(price=Decimal("19.90"), attrs={"list_price": Decimal(25)})
    assert data_json(record(data)) == b'{"price":19.90,"attrs":{"list_price":25}}'


def test_order_of_attrs_does_not_matter() -> None:
    one = Product(attrs={"a": 1, "b": {"c": 2, "d": 3}})
    other = Product(attrs={"b": {"d": 3, "c": 2}, "a": 1})
    assert data_json(record(one)) == data_json(record(other))


def test_equal_amounts_in_different_notations_give_equal_bytes() -> None:
    pages = [
        f'<script type="application/ld+json">{{"@type":"Product","offers":{{"price":{price}}}}}</script>'
        for price in ('"5.5"', "5.50", '"5,50"', "5.5", '"05.500000"')
    ]
    assert {data_json(extract(html, "https://a.example/", "product")) for html in pages} == {
        b'{"price":5.50}'
    }


def test_round_trip() -> None:
    for number in range(10):
        read = extract(page(number), "https://shop.example/p/1", "product")
        assert data_from(data_json(read)) == read.data
        assert seo_from(seo_json(read)) == read.seo
