"""``env.unwrapped.P`` compared with the rules."""

from collections import defaultdict

import pytest
from configurations import Wrapped, first_legal
from hypothesis import given
from hypothesis import strategies as st
from strategies import few_examples, seeds, tiny_rules
from table_policies import random_table

from nim_env import MixturePolicy, NimEnv, NimRules, RandomPolicy
from nim_env.policies import checked_policy


def make(rules, opponent, **arguments):
    arguments = {"observation": "index", "first_player": "agent"} | arguments
    return NimEnv(rules.heaps, rules.max_take, rules.misere, opponent=opponent, **arguments)


@few_examples
@given(tiny_rules, seeds, st.data())
def test_every_transition_is_that_of_the_rules(rules, seed, data):
    table = random_table(rules, seed)
    mixture = MixturePolicy(rules, ["expert", "random", table], weights=[1, 2, 3])
    opponent = data.draw(st.sampled_from(["random", "take-2", "expert", table, mixture]))
    env = make(rules, opponent)
    policy = checked_policy(opponent, rules)
    winner = 1.0 if not rules.misere else -1.0
    assert type(env.P) is dict
    assert list(env.P) == list(range(env.observation_space.n))
    for state, heaps in enumerate(rules.all_positions()):
        assert list(env.P[state]) == list(range(env.action_space.n))
        for action, found in env.P[state].items():
            expected = defaultdict(float)
            if state == 0:
                expected[0, 0.0, True] = 1.0
            elif (heap := rules.moves[action])[1] > heaps[heap[0]]:
                expected[0, -1.0, True] = 1.0
            elif not (after := rules.apply(heaps, action)).any():
                expected[0, winner, True] = 1.0
            else:
                mask = rules.action_mask(after)
                chances = policy.action_probabilities(after, mask)
                for reply in mask.nonzero()[0]:
                    final = int(rules.index(rules.apply(after, reply)))
                    expected[final, -winner if final == 0 else 0.0, final == 0] += float(chances[reply])
            total = defaultdict(float)
            for chance, *outcome in found:
                total[tuple(outcome)] += chance
                types = [*map(type, (state, action, found, chance, *outcome))]
                assert types == [int, int, list, float, int, float, bool]
            assert total == pytest.approx({key: chance for key, chance in expected.items() if chance}, abs=1e-6)
            assert sum(total.values()) == pytest.approx(1, abs=1e-12)


def test_each_environment_has_its_own_for_its_opponent():
    first, second = make(NimRules(), "random"), make(NimRules(), "random")
    assert first.P == second.P
    kept = first.P
    assert kept is first.P
    first.P[382][0].append("mine")  # equal to the outcomes of a move from the full heaps
    assert "mine" not in str(second.P)
    assert str(first.P).count("mine") == 1
    first.set_opponent("expert")
    assert first.P == make(NimRules(), "expert").P != second.P
    first.set_opponent(first_legal)
    assert not hasattr(first, "P")


def test_it_follows_the_members_of_a_mixture():
    rules = NimRules((1, 2))
    mixture = MixturePolicy(rules, ["random"])
    env = make(rules, mixture)
    seen = [env.P]
    mixture.add("expert", weight=2)
    seen.append(env.P)
    mixture.weights[0] = 5.0
    seen.append(env.P)
    weights = ([1, 0], [1, 2], [5, 2])
    assert seen == [make(rules, MixturePolicy(rules, ["random", "expert"], each)).P for each in weights]
    assert seen[0] != seen[1] != seen[2]
    assert env.P is seen[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"observation": "heaps"}, "observation.*index"),
        ({"opponent": None, "first_player": None}, "opponent=None"),
        ({"opponent": first_legal}, "opponent=.*first_legal"),
        ({"opponent": Wrapped(RandomPolicy())}, "opponent=.*Wrapped"),
        ({"opponent": MixturePolicy(NimRules(), ["random", first_legal])}, "opponent=.*Mixture"),
        ({"opponent": MixturePolicy(NimRules())}, "member"),
        ({"rules": NimRules((3, 5, 7, 9, 11))}, "positions times actions"),
    ],
)
def test_there_is_none(arguments, message):
    env = make(**{"rules": NimRules(), "opponent": "random"} | arguments)
    assert not hasattr(env, "P")
    with pytest.raises(AttributeError, match=message):
        env.P  # noqa: B018
