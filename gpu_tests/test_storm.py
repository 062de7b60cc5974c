"""Many requests at once with random aborts: no room is left, no byte is wrong."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.releases.seed import VERSION

from .conftest import Runners
from .runner import Weather
from .storm import make_orders
from .variants import Variant
from .vocabulary import Abort

KINDS = (Abort.SENDER, Abort.RECEIVER, Abort.FRAME)


@pytest.mark.releases
@pytest.mark.parametrize("fixes", ["A,B", "A,B,E"])
def test_the_rewritten_variant_stands_a_storm(fixes: str, runner: Runners) -> None:
    storm = runner(Variant(VERSION, seed=True, fixes=fixes)).storm(Weather(rooms=200))
    assert storm.good, storm
    assert sum(storm.ends.values()) == 200
    assert storm.ends["Success"] >= 140
    assert storm.ends["Failed"] > 0


def test_orders_are_the_same_for_the_same_seed() -> None:
    orders = make_orders(100, 0.3, KINDS, seed=5, first=10)
    assert orders == make_orders(100, 0.3, KINDS, seed=5, first=10)
    assert orders != make_orders(100, 0.3, KINDS, seed=6, first=10)
    kinds = Counter(order.abort for order in orders)
    assert kinds[Abort.NOBODY] == 70
    assert all(kinds[kind] for kind in KINDS)
    assert [order.room for order in orders] == list(range(10, 110))
