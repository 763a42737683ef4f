"""The shop's goods: made from a seed, changed by a seed."""

from collections.abc import Sequence
from decimal import Decimal
from random import Random
from typing import Final

import msgspec
from msgspec import Struct

from fyke.shop.words import ADJECTIVES, BRANDS, CATEGORIES, COLOURS, Category

__all__ = ["IN_STOCK", "Changes", "Item", "change", "make"]

IN_STOCK: Final = "InStock"
AVAILABILITY: Final = (IN_STOCK, "OutOfStock", "PreOrder", "LimitedAvailability", "BackOrder")
WEIGHTS: Final = (78, 9, 4, 6, 3)
EDITIONS: Final = ("2nd Edition", "New Colour", "Larger Size", "Gift Box")


class Item(Struct, frozen=True):
    """A product. `number` is its place in the catalogue, `revision` the last change that touched it,
    `gone` says that its page is not there any more and `listed` that the sitemap still has it."""

    number: int
    name: str
    sku: str
    slug: str
    brand: str
    category: Category
    colour: int
    price: Decimal
    currency: str
    availability: str
    rating: Decimal
    reviews: int
    edition: str = ""
    revision: int = 0
    gone: bool = False
    listed: bool = True

    @property
    def title(self) -> str:
        return f"{self.name}, {self.edition}" if self.edition else self.name

    @property
    def path(self) -> str:
        return f"/p/{self.slug}"


class Changes(Struct, frozen=True):
    """What a change did, by the paths of the products."""

    prices: tuple[str, ...]
    availability: tuple[str, ...]
    titles: tuple[str, ...]
    removed: tuple[str, ...]
    added: tuple[str, ...]


def make(seed: int, amount: int) -> tuple[Item, ...]:
    """`amount` products, spread over the categories; the same seed gives the same ones."""
    random = Random(f"{seed} catalogue")  # noqa: S311 - made-up goods, nothing secret
    taken: set[str] = set()
    return tuple([_item(random, number, taken) for number in range(amount)])


def change(items: Sequence[Item], seed: int, revision: int, share: float) -> tuple[tuple[Item, ...], Changes]:
    """The catalogue after `share` of it has changed, two have gone and three are new."""
    random = Random(f"{seed} change {revision}")  # noqa: S311 - made-up changes, nothing secret
    there = [item.number for item in items if not item.gone]
    chosen = random.sample(there, min(len(there), max(2, round(share * len(there))) + 2))
    leaving, touched = chosen[:2], set(chosen[2:])
    after: list[Item] = []
    for item in items:
        if item.number in touched:
            after.append(_touched(random, item, revision))
        elif item.number in leaving:
            # One is taken off the sitemap as well, the other is left there, as happens.
            listed = item.number == leaving[0]
            after.append(msgspec.structs.replace(item, gone=True, listed=listed, revision=revision))
        else:
            after.append(item)
    taken = {item.name for item in items}
    new = [_item(random, len(items) + i, taken, revision) for i in range(3)]
    return (*after, *new), _changes(items, after, new)


def _changes(before: Sequence[Item], after: Sequence[Item], new: Sequence[Item]) -> Changes:
    pairs = list(zip(before, after, strict=True))
    return Changes(
        prices=tuple([a.path for b, a in pairs if a.price != b.price]),
        availability=tuple([a.path for b, a in pairs if a.availability != b.availability]),
        titles=tuple([a.path for b, a in pairs if a.title != b.title]),
        removed=tuple([a.path for b, a in pairs if a.gone and not b.gone]),
        added=tuple([item.path for item in new]),
    )


def _item(random: Random, number: int, taken: set[str], revision: int = 0) -> Item:
    category = CATEGORIES[number % len(CATEGORIES)]
    while True:
        parts = (random.choice(ADJECTIVES), random.choice(category.materials), random.choice(category.nouns))
        name = " ".join(parts)
        if name not in taken:
            break
    taken.add(name)
    slug = f"{name.lower().replace(' ', '-')}-{number + 1001}"
    low, high = category.prices
    return Item(
        number=number,
        name=name,
        sku=f"{category.glyph[:2].upper()}-{number + 1001}",
        slug=slug,
        brand=random.choice(BRANDS),
        category=category,
        colour=random.randrange(len(COLOURS)),
        price=_price(random, low + (high - low) * random.random() ** 2),
        currency="GBP" if category.slug == "notebooks" else "EUR",
        availability=random.choices(AVAILABILITY, WEIGHTS)[0],
        rating=Decimal(random.randrange(32, 51)) / 10,
        reviews=random.randrange(3, 240),
        revision=revision,
    )


def _touched(random: Random, item: Item, revision: int) -> Item:
    """Most changes are of price; some are of stock or name as well, or instead."""
    kind = random.random()
    price, availability, edition = item.price, item.availability, item.edition
    if kind < 0.85:
        factor = random.choice((0.75, 0.8, 0.85, 0.9, 0.95, 1.05, 1.1, 1.15, 1.25))
        price = _price(random, float(item.price) * factor)
        if price == item.price:
            price += 1
    if kind > 0.65:
        availability = random.choice([one for one in AVAILABILITY if one != item.availability])
    if kind > 0.9:
        edition = random.choice([one for one in EDITIONS if one != item.edition])
    return msgspec.structs.replace(
        item, price=price, availability=availability, edition=edition, revision=revision
    )


def _price(random: Random, about: float) -> Decimal:
    return Decimal(max(1, int(about))) + random.choice((Decimal("0.00"), Decimal("0.50"), Decimal("0.90")))
