"""play_in_browser.py without a browser: its games, its routes and its process."""

import itertools
import json
import re
import signal
import socket
import urllib.error
import urllib.request
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason='needs pip install -e ".[examples,browser]"')

import play_in_browser
from hypothesis import given, settings
from hypothesis import strategies as st
from page_server import serve
from play_in_browser import Args, Game, Settings, main
from scripts import begin

import agents
from nim_env import ExpertPolicy, RandomPolicy, theory
from nim_env.gym_env import NimEnv

THREE_HEAPS = Settings("3 4 5", None, misere=False, first="you")


@pytest.fixture
def ask():
    """A request to a running server: its status and answer."""
    with serve(Args(heaps=(3, 4, 5), misere=False, seed=0)) as address:

        def ask(path, data=None, **headers):
            body = data if data is None or isinstance(data, bytes) else json.dumps(data).encode()
            request = urllib.request.Request(f"{address}/{path}", body, headers)
            try:
                with urllib.request.urlopen(request) as response:
                    return response.status, response.read().decode()
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, error.read().decode()

        ask.address = address
        yield ask


def state_of(answer):
    status, text = answer
    assert status == 200, text
    return json.loads(text)


def play(game, choose):
    """The person's moves until the end."""
    while not game.winner:
        game.move(*game.rules.moves[choose(game.positions[-1])])


# --- Games ----------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=4).filter(any),
    st.none() | st.integers(1, 4),
    st.booleans(),
    st.sampled_from(["you", "opponent", "random"]),
    st.data(),
)
def test_games_follow_the_rules(heaps, max_take, misere, first, data):
    chosen = Settings(" ".join(map(str, heaps)), max_take, misere, "random", first=first)
    game = Game(chosen, RandomPolicy(), np.random.default_rng(data.draw(st.integers(0, 99))))
    while not game.winner:
        state, before = game.state(), game.positions[-1]
        legal = game.rules.legal_moves(before)
        assert [(hint["heap"], hint["count"]) for hint in state["hints"]["moves"]] == legal
        move = data.draw(st.tuples(st.integers(-1, len(heaps)), st.integers(-1, 7)) | st.sampled_from(legal))
        if move in legal:
            game.move(*move)
        else:
            with pytest.raises(ValueError):
                game.move(*move)
            assert game.state() == state
            game.move(*legal[0])
    left = list(heaps)
    for move in game.moves:
        left[move["heap"]] -= move["count"]
    assert not any(left)
    players = [move["player"] for move in game.moves]
    assert all(one != other for one, other in itertools.pairwise(players))
    assert first in ("random", players[0])
    assert (game.winner == players[-1]) is not misere
    assert game.score == {"you": 0, "opponent": 0} | {game.winner: 1}
    with pytest.raises(ValueError):
        game.move(0, 1)


def test_score_and_undo():
    game = Game(THREE_HEAPS, RandomPolicy(), np.random.default_rng(0))
    with pytest.raises(ValueError):
        game.undo()
    play(game, lambda heaps: theory.winning_action_mask(game.rules, heaps).argmax())
    assert game.score == {"you": 1, "opponent": 0}
    ended = game.state()
    game.undo()
    assert game.score == {"you": 0, "opponent": 0}
    assert game.moves == ended["moves"][:-1]
    assert len(game.positions) == len(game.moves) + 1
    undone = ended["moves"][-1]
    game.move(undone["heap"], undone["count"])
    assert game.state() == ended
    while game.moves:
        game.undo()
    assert game.positions[-1].tolist() == [3, 4, 5]
    game.start(replace(THREE_HEAPS, first="opponent"))
    with pytest.raises(ValueError):
        game.undo()  # the opponent's first move is not undone


def test_hints_are_the_values_and_the_theory():
    env = NimEnv((3, 4, 5), misere=False, opponent=None)
    agent = agents.QLearningAgent(env.observation_space, env.action_space, seed=0)
    agents.train(agent, env, 300, seed=0)
    game = Game(THREE_HEAPS, agent, np.random.default_rng(0))
    heaps = game.positions[-1]

    def check():
        hints = game.hints()
        assert hints["kind"] == "value"
        actions = [game.rules.action(hint["heap"], hint["count"]) for hint in hints["moves"]]
        assert actions == np.flatnonzero(game.rules.action_mask(heaps)).tolist()
        assert [hint["value"] for hint in hints["moves"]] == agent.q_values(heaps)[actions].tolist()
        winning = theory.winning_action_mask(game.rules, heaps)[actions]
        assert [hint["wins"] for hint in hints["moves"]] == winning.tolist()

    while not game.winner:
        heaps = game.positions[-1]
        check()
        game.move(*game.rules.legal_moves(heaps)[0])
    check()  # at the end, of the human's last turn


def test_moves_are_rated_and_policies_show_probabilities():
    simple_nim = Settings("21", 3, misere=False, first="you")
    game = Game(simple_nim, ExpertPolicy(simple_nim.rules()), np.random.default_rng(0))
    hints = game.hints()
    assert hints["kind"] == "probability"
    assert [(hint["count"], hint["value"], hint["wins"]) for hint in hints["moves"]] == [
        (1, 1, True),
        (2, 0, False),
        (3, 0, False),
    ]
    game.move(0, 2)
    assert [move["rating"] for move in game.moves] == ["mistake", "wins"]
    play(game, lambda heaps: game.rules.action_mask(heaps).argmax())
    assert game.winner == "opponent"
    assert {move["rating"] for move in game.moves[2:]} == {"no move wins", "wins"}


# --- Routes ---------------------------------------------------------------------------------------


def test_a_game_over_the_routes(ask):
    start = state_of(ask("state"))
    assert start["heaps"] == [3, 4, 5]
    state = state_of(ask("new", {**start["settings"], "first": "you"}))
    assert state["number"] > start["number"]
    assert state["moves"] == []
    heap, count = state["hints"]["moves"][0]["heap"], state["hints"]["moves"][0]["count"]
    state = state_of(ask("move", {"heap": heap, "count": count}))
    assert [move["player"] for move in state["moves"]] == ["you", "opponent"]
    assert state_of(ask("state")) == state
    assert state_of(ask("undo", {}))["moves"] == []
    for path, text in (("", "<!doctype html>"), ("page.js", "fetch"), ("style.css", "prefers-color-scheme")):
        status, served = ask(path)
        assert status == 200
        assert text in served
        assert not re.search(r"(https?:)?//[a-z]+\.", served)  # nothing comes from elsewhere


@pytest.mark.parametrize("opponent", ["q-learning", "minimax-q", "win-counting"])
def test_opponents_are_trained_once(ask, opponent):
    chosen = {"heaps": "2 3", "max_take": None, "misere": True, "opponent": opponent, "episodes": 500}
    state = state_of(ask("new", {**chosen, "first": "you"}))
    assert len({hint["value"] for hint in state["hints"]["moves"]}) > 1  # it has learned
    assert state_of(ask("new", {**chosen, "first": "you"}))["hints"] == state["hints"]
    while not state["winner"]:
        move = state["hints"]["moves"][0]
        state = state_of(ask("move", {"heap": move["heap"], "count": move["count"]}))
    assert state["score"][state["winner"]] == 1
    assert state_of(ask("new", {**chosen, "first": "opponent"}))["score"] == state["score"]
    assert state_of(ask("new", {**chosen, "heaps": "2 2"}))["score"] == {"you": 0, "opponent": 0}


@pytest.mark.parametrize(
    ("path", "data", "word"),
    [
        ("move", {"heap": 0, "count": 4}, "count=4"),
        ("move", {"heap": 3, "count": 1}, "heap=3"),
        ("move", {"heap": "0", "count": 1}, "'0'"),
        ("move", {"heap": 0}, "count"),
        ("move", [0, 1], ""),
        ("move", b"no JSON", ""),
        ("undo", {}, "undo"),
        ("new", {"heaps": "1 2 x"}, "1 2 x"),
        ("new", {"heaps": "0 0"}, "not all 0"),
        ("new", {"heaps": "51"}, "50"),
        ("new", {"heaps": 3}, ""),
        ("new", {"max_take": 0}, "max_take must be 1 or more"),
        ("new", {"max_take": 2.5}, "2.5"),
        ("new", {"misere": "no"}, "misere"),
        ("new", {"first": "nobody"}, "nobody"),
        ("new", {"opponent": "grandmaster"}, "grandmaster"),
        ("new", {"opponent": "q-learning", "episodes": 0}, "episodes"),
        ("new", {"opponent": "q-learning", "episodes": 10**9}, "episodes"),
        ("new", {"opponent": "q-learning", "heaps": "50 50 50 50"}, "too large"),
    ],
)
def test_wrong_values_change_nothing(ask, path, data, word):
    chosen = {**state_of(ask("state"))["settings"], "first": "you"}
    state = state_of(ask("new", chosen))
    status, text = ask(path, chosen | data if path == "new" else data)
    assert status == 400
    assert word in json.loads(text)["error"]
    assert state_of(ask("state")) == state


def test_foreign_requests_are_refused(ask):
    state = state_of(ask("state"))
    undo = ("new", state["settings"])
    port = ask.address.rpartition(":")[2]
    assert ask(*undo, Origin="http://example.org")[0] == 403
    assert ask(*undo, Origin="null")[0] == 403
    assert ask("state", Origin="http://example.org")[0] == ask("", Origin="http://example.org")[0] == 403
    assert ask(*undo, Origin=f"http://127.0.0.1:{int(port) - 1}")[0] == 403
    assert ask("state", Host="example.org")[0] == 400
    assert ask(*undo, Host=f"example.org:{port}", Origin=f"http://example.org:{port}")[0] == 400
    assert state_of(ask("state")) == state
    assert state_of(ask(*undo, Origin=ask.address))["number"] == state["number"] + 1


@pytest.mark.parametrize("length", ["Content-Length: 150000000", "Transfer-Encoding: chunked"])
def test_long_requests_are_refused(ask, length):
    state = state_of(ask("state"))
    host, port = ask.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(f"POST /new HTTP/1.1\r\nHost: {host}\r\n{length}\r\n\r\n".encode())
        connection.sendall(b"8000\r\n" + b" " * 0x8000 + b"\r\n")
        assert b"413" in connection.recv(100)
    assert state_of(ask("state")) == state


def test_an_opponent_that_takes_too_long_is_refused(ask, monkeypatch):
    monkeypatch.setattr(play_in_browser, "MAX_SECONDS", 0.05)
    state = state_of(ask("state"))
    status, text = ask("new", {**state["settings"], "opponent": "q-learning", "episodes": 200_000})
    assert status == 400
    assert "0.05 seconds" in json.loads(text)["error"]
    assert state_of(ask("state")) == state


# --- The command line -----------------------------------------------------------------------------


def test_a_file_that_is_refused_later_is_named(tmp_path):
    env = NimEnv((2, 3), opponent=None)
    agents.MinimaxQAgent(env.observation_space, env.action_space, seed=0).save(tmp_path / "my.agent")
    with serve(Args(heaps=(2, 3), agents=("my.agent",), seed=0)) as address:
        (tmp_path / "my.agent").write_text("no agent any more")
        chosen = json.load(urllib.request.urlopen(f"{address}/state"))["settings"] | {"opponent": "expert"}
        for data in (chosen, chosen | {"opponent": "my.agent"}):
            request = urllib.request.Request(f"{address}/new", json.dumps(data).encode())
            if data is chosen:
                urllib.request.urlopen(request).close()
        with pytest.raises(urllib.error.HTTPError) as refusal:
            urllib.request.urlopen(request)
        assert refusal.value.code == 400
        assert b"my.agent" in refusal.value.read()


def test_saved_agents_are_offered(tmp_path):
    env = NimEnv((2, 3), opponent=None)
    agents.MinimaxQAgent(env.observation_space, env.action_space, seed=0).save(tmp_path / "my.agent")
    (tmp_path / "mine.py").write_text("def first(observation, action_mask): return int(action_mask.argmax())")
    args = Args(heaps=(2, 3), agents=("my.agent", "mine.py:first"), seed=0)
    with serve(args) as address:
        state = json.load(urllib.request.urlopen(f"{address}/state"))
    assert state["offered"] == ["my.agent", "mine.py:first"]
    assert state["settings"]["opponent"] == "my.agent"
    assert state["hints"]["kind"] == "value"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (Args(port=70000), ["port", "70000"]),
        (Args(port=-1), ["port", "-1"]),
        (Args(seed=-1), ["seed", "-1"]),
        (Args(heaps=(0,)), ["heaps", "0"]),
        (Args(max_take=0), ["max_take", "0"]),
        (Args(heaps=(99,)), ["50"]),
        (Args(agents=("nowhere.agent",)), ["nowhere.agent"]),
        (Args(agents=("broken.agent",)), ["broken.agent"]),
    ],
)
def test_wrong_arguments(args, words, refused, tmp_path):
    (tmp_path / "broken.agent").write_text("no agent")
    with refused(*words):
        main(args)


def test_a_port_in_use(ask, refused):
    port = int(ask.address.rpartition(":")[2])
    with refused("port", str(port)):
        main(Args(port=port, browser=False))


def test_the_process_prints_its_address_and_stops_at_ctrl_c(tmp_path):
    process = begin("play_in_browser.py", "--port", 0, "--no-browser", folder=tmp_path)
    address = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())[0]
    training = Settings("9 9 9 9", None, misere=True, opponent="q-learning", episodes=200_000)
    body = json.dumps(vars(training))
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:  # the training is stopped, too
        request = f"POST /new HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        connection.sendall(request.encode())
        with urllib.request.urlopen(f"{address}/state") as response:
            assert response.status == 200
        process.send_signal(signal.SIGINT)
        output, error = process.communicate(timeout=30)
    assert (output, error.strip()) == ("", "stopped")
    assert process.returncode == 130
