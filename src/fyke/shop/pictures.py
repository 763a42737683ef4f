"""The shop's pictures: drawn, one glyph for each category, tinted as the product is."""

from typing import Final

from fyke.shop.words import COLOURS

__all__ = ["SIZES", "picture"]

# What is cropped to for the second and third picture of a product.
SIZES: Final = ("0 0 400 400", "90 70 230 230", "40 150 220 220")

# {m} is the middle tone, {d} the dark one, {l} the light one.
GLYPHS: Final = {
    "kettle": """<path d="M120 290c-20-90 20-140 80-140s100 50 80 140z" fill="{m}"/>
<path d="M150 150c10-60 90-60 100 0" fill="none" stroke="{d}" stroke-width="12"/>
<path d="M276 210c34-4 40-30 56-34l6 14c-14 24-30 56-60 58z" fill="{m}"/>
<circle cx="200" cy="146" r="11" fill="{d}"/>
<rect x="112" y="286" width="176" height="14" rx="7" fill="{d}"/>""",
    "cup": """<path d="M118 150h150l-14 122c-3 22-18 34-38 34h-46c-20 0-35-12-38-34z" fill="{m}"/>
<path d="M264 180c60-8 60 74-8 74" fill="none" stroke="{d}" stroke-width="14"/>
<ellipse cx="193" cy="150" rx="75" ry="16" fill="{d}"/>
<path d="M170 118c-14-18 14-24 0-44M214 118c-14-18 14-24 0-44" fill="none" stroke="{l}" stroke-width="7"/>""",
    "lamp": """<path d="M150 90h100l44 110H106z" fill="{m}"/>
<rect x="194" y="200" width="12" height="96" fill="{d}"/>
<ellipse cx="200" cy="304" rx="62" ry="14" fill="{d}"/>
<path d="M120 206l-30 90M280 206l30 90" stroke="{l}" stroke-width="5" stroke-dasharray="3 14"/>""",
    "chair": """
<rect x="130" y="84" width="140" height="110" rx="18" fill="none" stroke="{d}" stroke-width="14"/>
<path d="M165 90v100M200 90v100M235 90v100" stroke="{m}" stroke-width="9"/>
<rect x="116" y="196" width="168" height="30" rx="12" fill="{m}"/>
<path d="M132 226l-12 94M268 226l12 94M160 226l-4 78M240 226l4 78" stroke="{d}" stroke-width="12"/>""",
    "textile": """<rect x="92" y="128" width="216" height="60" rx="24" fill="{m}"/>
<rect x="84" y="184" width="232" height="62" rx="26" fill="{d}"/>
<rect x="92" y="242" width="216" height="60" rx="24" fill="{m}"/>
<path d="M110 158h180M104 214h192M110 272h180" stroke="{l}" stroke-width="6" stroke-dasharray="16 9"/>""",
    "clock": """<circle cx="200" cy="200" r="112" fill="{d}"/><circle cx="200" cy="200" r="96" fill="{l}"/>
<path d="M200 200V126M200 200l52 34" stroke="{d}" stroke-width="10" stroke-linecap="round"/>
<path d="M200 112v14M200 274v14M112 200h14M274 200h14" stroke="{m}" stroke-width="8"/>
<circle cx="200" cy="200" r="9" fill="{m}"/>""",
    "plant": """<path d="M130 220h140l-18 96H148z" fill="{m}"/>
<rect x="120" y="206" width="160" height="24" rx="8" fill="{d}"/>
<path d="M200 206c-6-70-50-90-80-92 0 46 24 84 80 92z
M200 206c6-92 44-118 86-120 0 60-30 112-86 120z" fill="{d}"/>
<path d="M200 206c-14-60-6-110 6-136 16 40 14 96-6 136z" fill="{m}"/>""",
    "tool": """<g transform="rotate(32 200 200)">
<rect x="188" y="60" width="24" height="140" rx="12" fill="{m}"/>
<rect x="194" y="196" width="12" height="44" fill="{d}"/>
<path d="M166 236h68c4 50-10 86-34 108-24-22-38-58-34-108z" fill="{d}"/></g>""",
    "book": """<rect x="118" y="84" width="170" height="232" rx="10" fill="{d}"/>
<rect x="130" y="84" width="158" height="222" rx="8" fill="{m}"/>
<rect x="160" y="120" width="98" height="52" rx="4" fill="{l}"/>
<path d="M252 84v222" stroke="{d}" stroke-width="7"/>""",
    "basket": """<path d="M96 180h208l-24 128H120z" fill="{m}"/>
<path d="M130 180c0-130 140-130 140 0" fill="none" stroke="{d}" stroke-width="13"/>
<path d="M104 212h192M110 244h180M116 276h168" stroke="{d}" stroke-width="6" stroke-dasharray="20 10"/>
<rect x="88" y="170" width="224" height="22" rx="11" fill="{d}"/>""",
}


def picture(glyph: str, colour: int, view: int = 0) -> str:
    """An SVG of 400 × 400, or a closer look at it."""
    _, light, middle, dark = COLOURS[colour]
    drawn = GLYPHS[glyph].format(l=light, m=middle, d=dark)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{SIZES[view]}" width="400" height="400">'
        f'<defs><radialGradient id="g" cy=".35"><stop stop-color="#fff"/>'
        f'<stop offset="1" stop-color="{light}"/></radialGradient></defs>'
        f'<rect width="400" height="400" fill="url(#g)"/>'
        f'<ellipse cx="200" cy="322" rx="120" ry="13" fill="{dark}" opacity=".14"/>{drawn}</svg>'
    )
