"""Availability: schema.org's terms, Open Graph's words and what shops write, under our six names."""

import re
from typing import Final

__all__ = ["availability"]

IN_STOCK: Final = "in_stock"
OUT_OF_STOCK: Final = "out_of_stock"
PREORDER: Final = "preorder"
BACKORDER: Final = "backorder"
DISCONTINUED: Final = "discontinued"
LIMITED: Final = "limited"

TERMS: Final = {
    "instock": IN_STOCK, "instoreonly": IN_STOCK, "onlineonly": IN_STOCK, "available": IN_STOCK,
    "availablefororder": IN_STOCK, "true": IN_STOCK, "yes": IN_STOCK, "limitedavailability": LIMITED,
    "limitedstock": LIMITED, "limited": LIMITED, "lowstock": LIMITED, "outofstock": OUT_OF_STOCK,
    "soldout": OUT_OF_STOCK, "oos": OUT_OF_STOCK, "unavailable": OUT_OF_STOCK, "notavailable": OUT_OF_STOCK,
    "reserved": OUT_OF_STOCK, "false": OUT_OF_STOCK, "no": OUT_OF_STOCK, "preorder": PREORDER,
    "presale": PREORDER, "pending": PREORDER, "backorder": BACKORDER, "backordered": BACKORDER,
    "madetoorder": BACKORDER, "discontinued": DISCONTINUED,
}  # fmt: skip

# Words are looked for in this order: "not available" before "available".
WORDS: Final = tuple(
    (re.compile(rf"\b(?:{words})", re.IGNORECASE), name)
    for words, name in (
        (r"discontinued|no longer available|nicht mehr lieferbar|plus disponible", DISCONTINUED),
        (r"pre-?order|vorbestell|précommande|reserva anticipada|preordine", PREORDER),
        (r"back-?order|auf bestellung|sur commande|bajo pedido|su ordinazione", BACKORDER),
        (
            r"out of stock|sold out|(?:not|un)\s?available|not in stock|ausverkauft|"
            r"nicht (?:auf lager|verfügbar|lieferbar)|vergriffen|rupture|épuisé|indisponible|"
            r"agotado|sin stock|no disponible|esaurito|"
            r"non disponibile|uitverkocht|niet op voorraad|niedostępny|brak w magazynie|slut i lager|udsolgt|"
            r"utsolgt|esgotado|indisponível|vyprodáno|нет в наличии",
            OUT_OF_STOCK,
        ),
        (r"only \d+ (?:left|in stock)|few left|low stock|limited|nur noch|plus que \d+", LIMITED),
        (
            r"in stock|available|auf lager|sofort lieferbar|lieferbar|verfügbar|vorrätig|en stock|disponible|"
            r"disponibile|disponível|op voorraad|dostępny|na stanie|i lager|på lager|skladem|"
            r"в наличии|在庫あり",
            IN_STOCK,
        ),
    )
)
LETTERS = re.compile(r"[^a-z]+")


def availability(value: object) -> str | None:
    """Our name for a schema.org URL, a term or a short sentence; None when it says none of the six."""
    if not isinstance(value, str):
        return None
    text = value.strip()
    term = LETTERS.sub("", text[text.rfind("/") + 1 :].lower())
    if found := TERMS.get(term):
        return found
    if len(text) <= 200:
        for words, name in WORDS:
            if words.search(text):
                return name
    return None
