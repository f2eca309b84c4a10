"""What lies behind play_in_browser.py, without a browser: games, and the seats that they are played in."""

import sys
import threading

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripts import EXAMPLES

import agents
from nim_env import ExpertPolicy, NimRules, RandomPolicy, evaluation
from nim_env.gym_env import NimEnv

sys.path.insert(0, str(EXAMPLES))

from browser_games import MOST_SEATS, Game, Loaded, Refused, Seat, Seats, Setup, Taken
from players import board_learnt, fitting
from terminal import player_of

games = st.builds(
    NimRules,
    st.lists(st.integers(0, 6), min_size=1, max_size=4).filter(any),
    st.none() | st.integers(1, 4),
    misere=st.booleans(),
)


@settings(max_examples=150)
@given(games, st.integers(0, 1), st.integers(0, 9), st.data())
def test_a_game_changes_by_legal_moves_alone(rules, person, seed, data):
    """Whatever is tried, the heaps follow from the moves told, and who won from who took the last object."""
    policy = RandomPolicy()
    game = Game(rules, policy, player_of(policy, seed), person)
    told = [*game.last_moves]
    refused = 0
    while not game.is_over and refused < 30:
        before, stamp = game.heaps, game.stamp
        heap, count = data.draw(st.tuples(st.integers(-1, rules.n_heaps), st.integers(-1, 7)))
        late = data.draw(st.integers(0, 9)) == 0
        is_legal = 0 <= heap < rules.n_heaps and 1 <= count <= min(before[heap], rules.max_take or 9)
        if is_legal and not late:
            game.take(heap, count, stamp)
            assert game.stamp != stamp
            assert game.last_moves[0] == (person, heap, count)
            told += game.last_moves
        else:
            with pytest.raises(Refused, match="came too late" if late else r"Heaps are 0|is empty|From heap"):
                game.take(heap, count, stamp - late)
            assert (game.heaps, game.stamp) == (before, stamp)
            refused += 1
    assert [move.player for move in told] == [ply % 2 for ply in range(len(told))]
    left = list(rules.heaps)
    for _, heap, count in told:
        left[heap] -= count
    assert left == game.heaps
    assert game.is_over == (not any(left))
    if game.is_over:
        assert game.person_won == ((told[-1].player == person) != rules.misere)
        with pytest.raises(Refused, match="The game is over"):
            game.take(0, 1, game.stamp)
        assert game.hints() == []


def test_a_click_on_another_game_is_too_late():
    seat = Seat({}, seed=0)
    seat.new_game(Setup(first="you"))
    stamp = seat.game.stamp
    seat.new_game(Setup((3, 4, 5), first="you"))
    with pytest.raises(Refused, match="came too late"):
        seat.game.take(0, 1, stamp)
    seat.game.take(0, 1, seat.game.stamp)


def test_a_machine_that_fails_leaves_the_game_as_it_was():
    rules = NimRules((3, 4))
    answers = iter([ZeroDivisionError, 0, 0])

    def machine(_, mask):
        if (answer := next(answers)) != 0:
            raise answer
        return int(np.flatnonzero(mask)[0])

    game = Game(rules, RandomPolicy(), machine, 0)
    stamp = game.stamp
    with pytest.raises(ZeroDivisionError):
        game.take(0, 1, stamp)
    assert (game.heaps, game.stamp, game.last_moves) == ([3, 4], stamp, [])
    game.take(0, 1, stamp)
    assert game.last_moves == [Taken(0, 0, 1), Taken(1, 0, 1)]
    assert game.heaps == [1, 4]


def test_the_machine_moves_first_where_it_is_to():
    rules = NimRules((21,), 3, misere=False)
    game = Game(rules, ExpertPolicy(rules), player_of(ExpertPolicy(rules), 0), 1)
    assert game.last_moves == [Taken(0, 0, 1)]
    assert game.heaps == [20]
    assert [hint[:2] for hint in game.hints()] == [(0, 1), (0, 2), (0, 3)]
    assert not any(hint.wins for hint in game.hints())


# --- Seats ----------------------------------------------------------------------------------------


def test_a_trained_opponent_stays_until_another_is_picked():
    seat = Seat({}, seed=0)
    setup = Setup((1, 2), opponent="q-learning", games=300)
    seat.new_game(setup)
    agent = seat.game.opponent
    assert evaluation.mastery(setup.rules(), agent).expert == 1.0
    seat.new_game(Setup((1, 2), opponent="q-learning", games=300, first="you"))
    assert seat.game.opponent is agent
    assert seat.game.person == 0
    for other in (
        Setup((1, 2), opponent="q-learning", games=301),
        Setup((1, 2), opponent="minimax-q", games=301),
        Setup((1, 3), opponent="minimax-q", games=301),
        Setup((1, 3), misere=False, opponent="minimax-q", games=301),
        Setup((1, 3), 2, False, opponent="minimax-q", games=301),
    ):
        seat.new_game(other)
        assert seat.game.opponent is not agent
        agent = seat.game.opponent


def test_the_same_seed_gives_the_same_opponent_and_draws():
    def played(seed):
        seat = Seat({}, seed)
        heaps = []
        for opponent in ("q-learning", "random", "random"):
            seat.new_game(Setup((3, 4, 5), opponent=opponent, games=50))
            heaps.append((seat.game.person, *seat.game.heaps))
            if not seat.game.is_over:
                heap = int(np.argmax(seat.game.heaps))
                seat.game.take(heap, 1, seat.game.stamp)
                heaps.append(tuple(seat.game.heaps))
        return heaps

    assert played(3) == played(3)
    assert len({tuple(played(seed)) for seed in range(6)}) > 1


@pytest.mark.parametrize(
    ("setup", "words"),
    [
        (Setup(heaps=()), "heaps"),
        (Setup(heaps=(0,)), "heaps"),
        (Setup(heaps=(1,) * 16), "A page has room for 15 heaps of up to 50 objects."),
        (Setup(heaps=(51,)), "A page has room for 15 heaps of up to 50 objects."),
        (Setup(heaps=(-1, 2)), "heaps"),
        (Setup(max_take=0), "max_take"),
        (Setup(opponent="q-learning", games=0), "Training games must be 1 to 1,000,000; got 0."),
        (Setup(opponent="q-learning", games=1_000_001), "Training games must be 1 to 1,000,000; got 1,000,001."),
        (Setup(opponent="grandmaster"), "opponent must be"),
        (Setup(opponent="take-0"), "take-0"),
        (Setup(opponent="mine"), "mine holds an agent of another game than 1-3-5-7, take any number"),
    ],
)
def test_what_cannot_be_played_is_refused_and_the_game_goes_on(setup, words):
    env = NimEnv((2, 3), 2, opponent=None)
    agent = agents.QLearningAgent(env.observation_space, env.action_space)
    seat = Seat({"mine": Loaded(lambda rules: fitting(agent, rules, "mine"), board_learnt(agent))}, seed=0)
    seat.new_game(Setup(first="you"))
    game = seat.game
    with pytest.raises(Refused, match=words):
        seat.new_game(setup)
    assert seat.game is game
    assert seat.setup == Setup(first="you")
    game.take(3, 1, game.stamp)
    seat.new_game(Setup((2, 3), 2, opponent="mine"))
    assert seat.game.opponent is agent


def test_one_game_begins_at_a_time_and_a_training_can_be_stopped():
    seat = Seat({}, seed=0)
    begun = threading.Thread(target=seat.new_game, args=[Setup((9, 9), opponent="q-learning", games=1_000_000)])
    begun.start()
    while seat.training is None or not seat.training.played:
        pass
    with pytest.raises(Refused, match="still in training"):
        seat.new_game(Setup())
    assert seat.game is None
    training = seat.training
    training.is_stopped = True
    begun.join()
    assert seat.training is None
    assert 0 < training.played < 1_000_000
    agent = seat.game.opponent
    setup = seat.setup
    begun = threading.Thread(target=seat.new_game, args=[setup])  # the same again: it is to learn all of it
    begun.start()
    while seat.training is None or not seat.training.played:
        assert begun.is_alive()
    seat.stop_training()
    begun.join()
    assert seat.game.opponent is not agent
    seat.new_game(Setup((9, 9), opponent="q-learning", games=10))
    agent = seat.game.opponent
    seat.new_game(Setup((9, 9), opponent="q-learning", games=10))
    assert seat.game.opponent is agent  # which was not stopped, so it stays


def test_no_more_than_two_trainings_at_once():
    seats = [Seat({}, seed=0) for _ in range(3)]
    setup = Setup((9, 9), opponent="q-learning", games=1_000_000)
    begun = [threading.Thread(target=seat.new_game, args=[setup]) for seat in seats[:2]]
    for thread in begun:
        thread.start()
    while any(seat.training is None for seat in seats[:2]):
        pass
    with pytest.raises(Refused, match="Other people's opponents are in training now"):
        seats[2].new_game(setup)
    seats[2].new_game(Setup())  # who needs no training is not kept waiting
    for seat, thread in zip(seats, begun, strict=False):
        seat.stop_training()
        thread.join()
    seats[2].new_game(Setup((2, 2), opponent="q-learning", games=5))


def test_a_training_ends_when_the_last_page_is_left():
    seat = Seat({}, seed=0)
    pages = [lambda: None, lambda: print()]
    seat.pages.update(pages)
    setup = Setup((9, 9), opponent="q-learning", games=1_000_000)
    begun = threading.Thread(target=seat.new_game, args=[setup])
    begun.start()
    while seat.training is None:
        pass
    seat.leave(pages[0])
    training = seat.training
    assert not training.is_stopped
    seat.leave(pages[1])
    assert training.is_stopped
    begun.join()
    seat.leave(pages[1])


def test_loaded_agents_have_names_of_their_own():
    seat = Seat({}, seed=0)
    agents_of = []
    for name in ("my.agent", "my.agent", "expert", "q-learning", "my.agent"):
        env = NimEnv((2, 3), opponent=None)
        agent = agents.QLearningAgent(env.observation_space, env.action_space)
        loaded = Loaded(lambda rules, agent=agent: fitting(agent, rules, "it"), board_learnt(agent))
        agents_of.append((seat.load(name, loaded), agent))
    assert [name for name, _ in agents_of] == [
        *("my.agent", "my.agent (2)", "expert (2)", "q-learning (2)", "my.agent (3)")
    ]
    for name, agent in agents_of:
        seat.new_game(Setup((2, 3), opponent=name))
        assert seat.game.opponent is agent
    seat.new_game(Setup((2, 3), opponent="expert"))
    assert isinstance(seat.game.opponent, ExpertPolicy)


def test_every_browser_has_a_seat_and_unknown_ones_start_afresh():
    seats = Seats({}, seed=0)
    first, second = seats.of("a"), seats.of("b")
    assert first is not second
    assert seats.of("a") is first
    first.new_game(Setup())
    assert second.game is None
    first.loaded["mine"] = None
    assert "mine" not in second.loaded
    third = seats.of("c")
    second.pages.add(print)  # it has a page open
    for number in range(MOST_SEATS - 3):
        seats.of(str(number))
    assert seats.of("a") is first  # among the most, and used last
    assert seats.of("one too many") is seats.of("one too many")
    assert seats.of("a") is first
    assert seats.of("b") is second
    assert seats.of("c") is not third


def test_what_is_in_training_is_stopped_at_the_end():
    seats = Seats({}, seed=0)
    seat = seats.of("a")
    seats.of("b")
    setup = Setup((9, 9), opponent="win-counting", games=1_000_000)
    begun = threading.Thread(target=seat.new_game, args=[setup])
    begun.start()
    while seat.training is None:
        pass
    seats.stop_training()
    begun.join()
    assert seat.game is not None


@pytest.mark.parametrize("rules", [NimRules(), NimRules((21,), 3), NimRules((0, 4, 9), 8), NimRules((1,))])
def test_an_agent_tells_which_board_it_has_learnt(rules):
    env = NimEnv(rules.heaps, rules.max_take, opponent=None)
    found = board_learnt(agents.MinimaxQAgent(env.observation_space, env.action_space))
    assert (found.heaps, found.moves) == (rules.heaps, rules.moves)


def test_an_agent_of_another_kind_of_game_tells_of_no_board():
    lake = gym.make("FrozenLake-v1")
    assert board_learnt(agents.QLearningAgent(lake.observation_space, lake.action_space)) is None
    odd = gym.spaces.MultiDiscrete([3, 3]), gym.spaces.Discrete(17)
    assert board_learnt(agents.QLearningAgent(*odd)) is None
