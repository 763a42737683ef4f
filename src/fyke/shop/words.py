"""What the demo shop sells and how it talks about it. All of it is made up."""

from typing import Final

from msgspec import Struct

__all__ = ["ADJECTIVES", "ARTICLES", "BRANDS", "CATEGORIES", "COLOURS", "PRAISE", "SCRIPTS", "Category"]


class Category(Struct, frozen=True):
    """A shelf of the shop. `prices` is the range in whole units, `glyph` names its picture."""

    slug: str
    name: str
    group: str
    blurb: str
    glyph: str
    nouns: tuple[str, ...]
    materials: tuple[str, ...]
    prices: tuple[int, int]


CATEGORIES: Final = (
    Category(
        "kettles-pots",
        "Kettles & Pots",
        "Kitchen",
        "Things that whistle, simmer and pour.",
        "kettle",
        ("Kettle", "Teapot", "Saucepan", "Stockpot", "Milk Pan", "Coffee Pot"),
        ("Enamel", "Copper", "Cast Iron", "Steel", "Stoneware"),
        (24, 189),
    ),
    Category(
        "cups-bowls",
        "Cups & Bowls",
        "Kitchen",
        "Thrown by hand, safe in the dishwasher.",
        "cup",
        ("Mug", "Cereal Bowl", "Espresso Cup", "Serving Bowl", "Tumbler", "Plate"),
        ("Stoneware", "Porcelain", "Glass", "Bamboo", "Terracotta"),
        (6, 48),
    ),
    Category(
        "lamps",
        "Lamps",
        "Living",
        "Warm light for corners, desks and ceilings.",
        "lamp",
        ("Table Lamp", "Floor Lamp", "Pendant", "Reading Lamp", "Lantern", "Wall Light"),
        ("Brass", "Linen", "Oak", "Smoked Glass", "Paper"),
        (29, 349),
    ),
    Category(
        "chairs-stools",
        "Chairs & Stools",
        "Living",
        "Seats that are sat in before they are sold.",
        "chair",
        ("Chair", "Stool", "Armchair", "Bench", "Rocking Chair", "Bar Stool"),
        ("Oak", "Ash", "Rattan", "Walnut", "Wool"),
        (59, 690),
    ),
    Category(
        "blankets-cushions",
        "Blankets & Cushions",
        "Living",
        "Woven in small mills, washed soft.",
        "textile",
        ("Blanket", "Cushion", "Throw", "Rug", "Bedspread", "Bolster"),
        ("Wool", "Linen", "Cotton", "Alpaca", "Hemp"),
        (19, 240),
    ),
    Category(
        "clocks",
        "Clocks",
        "Living",
        "Quiet hands, honest dials.",
        "clock",
        ("Wall Clock", "Mantel Clock", "Alarm Clock", "Station Clock", "Kitchen Timer"),
        ("Brass", "Beech", "Steel", "Concrete", "Enamel"),
        (18, 210),
    ),
    Category(
        "planters",
        "Planters",
        "Garden",
        "Pots with a hole where it belongs.",
        "plant",
        ("Planter", "Hanging Pot", "Window Box", "Saucer", "Seed Tray", "Watering Can"),
        ("Terracotta", "Zinc", "Stoneware", "Cedar", "Concrete"),
        (8, 129),
    ),
    Category(
        "garden-tools",
        "Garden Tools",
        "Garden",
        "Forged, sharpened and oiled.",
        "tool",
        ("Trowel", "Hand Fork", "Pruner", "Hoe", "Rake", "Dibber"),
        ("Ash", "Steel", "Copper", "Beech", "Bronze"),
        (9, 95),
    ),
    Category(
        "notebooks",
        "Notebooks & Paper",
        "Desk",
        "Paper that takes ink and does not mind.",
        "book",
        ("Notebook", "Sketchbook", "Diary", "Writing Pad", "Album", "Planner"),
        ("Linen", "Kraft", "Leather", "Cotton", "Cork"),
        (5, 54),
    ),
    Category(
        "baskets-boxes",
        "Baskets & Boxes",
        "Desk",
        "Somewhere to put everything else.",
        "basket",
        ("Basket", "Storage Box", "Tray", "Letter Rack", "Toolbox", "Hamper"),
        ("Willow", "Felt", "Oak", "Steel", "Seagrass"),
        (11, 119),
    ),
)

BRANDS: Final = (
    "Tarn & Hazel",
    "Norrbo",
    "Ostrava Works",
    "Quillfeather",
    "Maison Verdier",
    "Lowfell",
    "Kübler Söhne",
    "Piedra",
    "Saltmarsh",
    "Wick & Wren",
)

ADJECTIVES: Final = (
    "Amber", "Birch", "Cove", "Dune", "Ember", "Fjord", "Glen", "Harbour", "Isle", "Juniper", "Kestrel",
    "Lark", "Moor", "North", "Orchard", "Pebble", "Quarry", "Ridge", "Sable", "Thistle", "Umber", "Vale",
    "Willow", "Yarrow",
)  # fmt: skip

COLOURS: Final = (
    ("Chalk", "#efe9dd", "#c9bfae", "#6d6455"),
    ("Sage", "#dfe7da", "#9db08f", "#47583c"),
    ("Clay", "#f3ddd0", "#cf8e6c", "#7a432a"),
    ("Ink", "#d9e0ea", "#5b7596", "#1f3149"),
    ("Mustard", "#f7ebc8", "#d9a93a", "#7b5a10"),
    ("Plum", "#ecdce6", "#9c6488", "#502b45"),
    ("Moss", "#e3e6cf", "#8c9652", "#454c20"),
    ("Slate", "#e1e4e6", "#7f8b93", "#333c43"),
)

PRAISE: Final = (
    "Made in small batches and checked one by one before it leaves the workshop.",
    "The finish is food-safe and will darken a little with use, as it should.",
    "Every part can be replaced; write to us and we send what you need.",
    "A plain shape that took eleven drawings to get right.",
    "It stands firmly, stacks well and does not ask for attention.",
    "Packed in paper and card only; there is no plastic in the box.",
    "The first one was made for a neighbour, who still uses it daily.",
    "We have sold it since our second year and changed it only once.",
    "Seconds with small marks are sold at the counter, never online.",
    "Wipe it with a damp cloth; oil it once a year if you feel like it.",
)

ARTICLES: Final = (
    ("why-we-stopped-discounting", "Why we stopped discounting", "Prices here change when costs do."),
    ("a-day-at-the-kiln", "A day at the kiln", "Forty pots, one long wait and a cracked lid."),
    ("how-to-oil-an-oak-stool", "How to oil an oak stool", "Ten minutes, one rag, no hurry."),
    ("the-lamp-that-would-not-stand", "The lamp that would not stand", "Notes on a heavy base."),
    ("planting-for-a-north-window", "Planting for a north window", "Five plants that do not sulk."),
    ("paper-and-what-it-forgives", "Paper, and what it forgives", "On ink, weight and tooth."),
)

# Pages in other character sets say a sentence in a script that needs them.
SCRIPTS: Final = (
    ("windows-1252", "Façonné à la main – “très solide”, déjà prêt à l’emploi."),
    ("iso-8859-15", "Handgefertigt in Süddeutschland: schön, zäh, größer als gedacht."),
    ("koi8-r", "Ручная работа: крепкая вещь на долгие годы."),
    ("shift_jis", "職人が一つずつ手作りしています。"),
    ("iso-8859-2", "Ręcznie robione, wytrzymałe i łatwe w myciu."),
    ("gb18030", "手工制作，经久耐用。"),
)
