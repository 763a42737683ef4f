"""Currencies: the codes of ISO 4217, and the symbols that shops write instead."""

from typing import Final

__all__ = ["ISO", "SYMBOLS", "THREE_DECIMALS"]

CODES = """
AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN
BZD CAD CDF CHF CLF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL
GHS GIP GMD GNF GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF
KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR
MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG
SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU
UZS VED VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWL
"""
ISO: Final = frozenset(CODES.split())
THREE_DECIMALS: Final = frozenset({"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"})

# In upper case. A symbol that several countries use is the one most shops mean by it.
SYMBOLS: Final = {
    "€": "EUR", "£": "GBP", "$": "USD", "US$": "USD", "¥": "JPY", "円": "JPY", "元": "CNY", "RMB": "CNY",
    "CN¥": "CNY", "JP¥": "JPY", "₹": "INR", "RS.": "INR", "₽": "RUB", "РУБ": "RUB", "РУБ.": "RUB", "₴": "UAH",
    "ГРН": "UAH", "₩": "KRW", "원": "KRW", "₺": "TRY", "TL": "TRY", "₪": "ILS", "₫": "VND", "Đ": "VND",
    "฿": "THB", "₱": "PHP", "₦": "NGN", "₸": "KZT", "R$": "BRL", "A$": "AUD", "AU$": "AUD", "C$": "CAD",
    "CA$": "CAD", "NZ$": "NZD", "HK$": "HKD", "S$": "SGD", "NT$": "TWD", "MX$": "MXN", "ZŁ": "PLN",
    "KČ": "CZK", "FT": "HUF", "LEI": "RON", "ЛВ": "BGN", "ЛВ.": "BGN", "KR": "SEK", "KR.": "DKK",
    "FR.": "CHF", "SFR.": "CHF", "RP": "IDR", "RM": "MYR", "R": "ZAR", "S/": "PEN", "EURO": "EUR",
    "DH": "MAD",
}  # fmt: skip
