"""Reads the map of positions back from its SVG and compares it with brute force."""

from collections import Counter
from xml.etree import ElementTree

import brute_force
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import few_examples, rules, seeds
from table_policies import random_table

from nim_env import NimRules, evaluation
from nim_env.rendering.svg import position_map

SVG = "{http://www.w3.org/2000/svg}"


def blocks_of(svg):
    """Returns the place, the color, the opacity and whether there is a cross of each block, by its heaps."""
    found = {}
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        name = group.findtext(f"{SVG}title")
        if name:
            x, y = group.get("transform").removeprefix("translate(").removesuffix(")").split()
            opacity = float(group.find(f"{SVG}rect").get("fill-opacity"))
            heaps = tuple(map(int, name.split("-")))
            assert heaps not in found
            found[heaps] = float(x), float(y), group.get("class"), opacity, group.find(f"{SVG}path") is not None
    return found


@few_examples
@given(rules, seeds, st.booleans())
def test_a_block_for_each_won_position_and_a_mark_for_each_mistake(rules, seed, deterministic):
    mastery = evaluation.mastery(rules, random_table(rules, seed, deterministic=deterministic))
    won = [tuple(heaps) for heaps in rules.all_positions()[brute_force.winners(rules)].tolist() if any(heaps)]
    assume(won)
    found = blocks_of(position_map(mastery))
    assert sorted(found) == won
    chances = {heaps: mastery.winning_probabilities[rules.index(heaps)] for heaps in won}
    marked = {heaps for heaps, (*_, mark) in found.items() if mark}
    assert marked == {heaps for heaps in won if chances[heaps] == 0}
    blue, red = (
        {found[heaps][2] for heaps in won if (chances[heaps] >= 0.5) == is_blue} for is_blue in (True, False)
    )
    assert len(blue) <= 1
    assert len(red) <= 1
    assert not blue & red
    by_distance = sorted(won, key=lambda heaps: abs(chances[heaps] - 0.5))
    opacities = [found[heaps][3] for heaps in by_distance]
    assert opacities == sorted(opacities)


@few_examples
@given(rules)
def test_blocks_stand_in_columns_without_overlap(rules):
    mastery = evaluation.mastery(rules, "take-1")
    assume(mastery.won_positions)
    svg = position_map(mastery)
    places = np.array([place[:2] for place in blocks_of(svg).values()])
    objects = np.array([sum(heaps) for heaps in blocks_of(svg)])
    apart = np.abs(places[:, None] - places).max(axis=2)
    assert (apart + 2 * np.eye(len(places)) > 0.98).all()  # x has two decimals
    x, y = places.T
    for number, count in Counter(objects.tolist()).items():
        column = objects == number
        assert (x[objects < number] < x[column].min()).all()
        assert -y[column].min() == -(-count // len(set(x[column])))  # all rows except the last are full
    size = float(svg.rpartition("scale(")[2].split(")")[0])
    top, width = (float(svg.partition('viewBox="')[2].split()[i]) for i in (1, 2))
    assert 0 < 20 + size * x.min() < 20 + size * (x.max() + 1) < width
    assert size * y.min() > top + 103


def test_the_title_is_escaped():
    title = "<agent> & 'co' \"\u00e9\""
    svg = position_map(evaluation.mastery(NimRules(), "random"), title)
    root = ElementTree.fromstring(svg)
    assert root.findtext(f"{SVG}title").startswith(title)
    assert title in {text.text for text in root.iter(f"{SVG}text")}


def test_large_boards_are_refused():
    with pytest.raises(ValueError, match="winning positions"):
        position_map(evaluation.mastery(NimRules((9, 9, 10)), "random"))
