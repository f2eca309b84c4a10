"""Compares the states of boards with games played by the rules, and random draws with their weights."""

import brute_force
import numpy as np
import pytest
from gymnasium.spaces import Box
from hypothesis import given
from hypothesis import strategies as st
from strategies import few_examples, tiny_rules
from strategies import rules as any_rules

from nim_env import Encoding, NimRules, NimVectorEnv
from nim_env._internal.draws import alias_lists
from nim_env.board import Board, LargeBoard, TabulatedBoard
from nim_env.envs._results import StepResultCache

KINDS = Board, LargeBoard, TabulatedBoard


def described(rules):
    """Yields each state's heaps and reward, and whether it is over, and by an illegal action, by brute force."""
    positions = rules.all_positions().tolist()
    last = -1.0 if rules.misere else 1.0
    yield positions[0], last, True, False
    for heaps in (*positions[1:], positions[-1]):  # in progress, and the full heaps before an opening move
        yield heaps, 0.0, False, False
    yield positions[0], -last, True, False
    for heaps in positions[1:]:
        yield heaps, -1.0, True, True


@few_examples
@given(any_rules, st.sampled_from(KINDS))
def test_the_number_says_the_position_and_how_the_game_ended(rules, kind):
    board = kind(rules)
    states = np.arange(2 * board.n_positions + 1)
    heaps, rewards, is_over, is_illegal = map(np.array, zip(*described(rules), strict=True))
    masks = np.where(is_over[:, None], 1, rules.action_mask(heaps))
    np.testing.assert_array_equal(board.heaps(states), heaps)
    np.testing.assert_array_equal(board.rewards(states), rewards)
    np.testing.assert_array_equal(board.is_over(states), is_over)
    np.testing.assert_array_equal(board.masks(states), masks)
    results = StepResultCache(board, Encoding(Box(0, 7), lambda heaps: heaps[..., :1]))
    for state in (0, 1, board.full_heaps, board.new_game, board.opponent_took_last, 2 * board.n_positions):
        result = results[state]
        assert result.observation.tolist() == heaps[state][:1].tolist()
        assert result.heaps.tolist() == heaps[state].tolist()
        assert result.action_mask.tolist() == list(result.is_legal) == masks[state].tolist()
        assert (result.reward, result.is_over, result.is_illegal) == (
            rewards[state],
            is_over[state],
            is_illegal[state],
        )


@few_examples
@given(tiny_rules, st.sampled_from(KINDS))
def test_moves_of_both_players(rules, kind):
    board = kind(rules)
    for state in (*range(1, board.n_positions), board.new_game):
        heaps = board.heaps(np.array([state]))[0]
        actions = np.arange(rules.n_actions)
        expected = dict.fromkeys(actions.tolist(), board.opponent_took_last + min(state, board.full_heaps))
        legal = {
            rules.action(*move): after for move, after in brute_force.moves(tuple(heaps.tolist()), rules.max_take)
        }
        expected |= {action: int(rules.index(after)) for action, after in legal.items()}
        assert board.next_states(np.full_like(actions, state), actions).tolist() == [*expected.values()]
        replies = board.states_after_reply(np.full(len(legal), state), np.array([*legal])).tolist()
        assert replies == [expected[action] or board.opponent_took_last for action in legal]
    over = np.array([0, board.opponent_took_last, 2 * board.n_positions])
    assert (board.next_states(over, np.zeros(3, dtype=int)) == board.new_game).all()


def test_a_large_board_notices_other_states_in_the_same_array():
    board = LargeBoard(NimRules())
    states = np.array([1, 2, 3])
    for method in (LargeBoard.masks, LargeBoard.heaps):
        for first in (1, 1, 300, 300):
            states[0] = first
            found = method(board, states)
            np.testing.assert_array_equal(found, getattr(Board, method.__name__)(board, states))
            found[:] = 7  # changes only the caller's array


def test_the_largest_board_and_one_that_is_too_large():
    with pytest.raises(ValueError, match="positions"):
        Board(NimRules((3,) * 31))
    rules = NimRules((3,) * 30 + (1,))
    assert rules.n_positions == 2**61
    envs = NimVectorEnv(3, rules.heaps, opponent=None)
    envs.reset()
    envs.step(np.array([90, 90, 90]))  # takes the only object of the last heap
    _, rewards, terminated, _, infos = envs.step(np.array([90, 0, 90]))
    assert rewards.tolist() == [-1, 0, -1]
    assert terminated.tolist() == infos["illegal_action"].tolist() == [True, False, True]


weight_rows = st.lists(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0, 1e-9]) | st.floats(0, 1), min_size=5, max_size=5),
    min_size=1,
    max_size=6,
).map(np.array)


@few_examples
@given(weight_rows)
def test_alias_lists_have_the_probabilities_of_their_weights(weights):
    weights = weights[weights.sum(axis=1) > 1e-300]
    lists = alias_lists(weights)
    keep = np.ones(len(lists.items)) if lists.keep is None else lists.keep
    found = np.zeros(weights.shape)
    row = np.arange(len(weights)).repeat(lists.counts)
    np.add.at(found, (row, lists.items), keep / lists.counts[row])
    np.add.at(found, (row, lists.aliases), (1 - keep) / lists.counts[row])
    np.testing.assert_allclose(found, weights / weights.sum(axis=1, keepdims=True), atol=1e-6)
    assert not found[weights == 0].any()
