"""Fyke: a self-hosted scraping operations platform."""

__version__ = "0.1.0"
