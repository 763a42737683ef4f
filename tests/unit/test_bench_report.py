"""What `make bench` makes of what it measured: the verdicts, and the document."""

import msgspec
import pytest
from bench.figures import FIGURES, Figure, Found, rows
from bench.report import Measured, Report, document, table
from bench.systems import SYSTEMS

LATENCY = Figure("Idle latency", "p99_ms", 5, "ms")


def measured(rate: float) -> Measured:
    return Measured(
        rates=[rate * 0.9, rate, rate * 1.1], core_shares=[0.9], max_mb=80, version="1", size=1000
    )


def report(rates: dict[str, float], own: tuple[Found, ...] = ()) -> Report:
    systems = tuple(system for system in SYSTEMS if system.name in rates)
    found = {name: measured(rate) for name, rate in rates.items()}
    return Report("2026-01-02", 3, {"Processor": "one"}, systems, found, own)


def line(text: str, start: str) -> str:
    return next(row for row in text.splitlines() if row.strip("| ").startswith(start))


@pytest.mark.parametrize(("value", "verdict"), [(4.99, "met"), (5.0, "met"), (5.01, "missed")])
def test_an_own_figure_is_met_up_to_its_aim(value: float, verdict: str) -> None:
    row = rows([Found(LATENCY, "fyke bench latency", value)])[1]
    assert row == ["Idle latency", f"{value:.2f} ms", "≤ 5 ms", verdict, "fyke bench latency"]


def test_a_figure_that_could_not_be_measured_says_why_and_is_not_met() -> None:
    found = Found(LATENCY, "fyke bench latency", failed="took too long")
    assert not found.met
    assert rows([found])[1][1:4] == ["not measured", "≤ 5 ms", "took too long"]


def test_ratios_are_of_medians_and_judged() -> None:
    text = table(report({"fyke": 2400, "scrapy-jobdir": 250, "crawlee-sql": 160}))
    assert "9.60" in line(text, "Fyke / Scrapy with JOBDIR")
    assert line(text, "Fyke / Scrapy with JOBDIR").endswith("missed")
    assert "15.00" in line(text, "Fyke / crawlee-python, SQL storage")
    assert line(text, "Fyke / crawlee-python, SQL storage").endswith("met")


def test_the_document_has_own_figures_only_when_there_are_any() -> None:
    rates = {"fyke": 2400.0, "bare": 3000.0}
    assert "## Fyke alone" not in document(report(rates))
    with_own = document(report(rates, (Found(LATENCY, "fyke bench latency", 6.5),)))
    assert "## Fyke alone" in with_own
    assert "| Idle latency | 6.50 ms | ≤ 5 ms | missed | fyke bench latency |" in with_own


def test_what_is_kept_can_be_written_as_json() -> None:
    own = (Found(LATENCY, "fyke bench latency", 6.5),)
    kept = msgspec.json.decode(msgspec.json.encode(own))
    assert kept[0]["figure"]["most"] == 5
    assert kept[0]["value"] == 6.5


def test_every_aim_of_one_command_is_named_once() -> None:
    labels = [figure.label for command in FIGURES for figure in command.figures]
    assert len(labels) == len(set(labels)) == 11
