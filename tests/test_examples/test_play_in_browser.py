"""play_in_browser.py without a browser: its players, its server and the data and colors of its page."""

import base64
import json
import re
import signal
import sys
import threading
import urllib.error
import urllib.request

import numpy as np
import play_in_browser
import pytest
from play_in_browser import PAGE, Args, main, make_server, tabulate
from scripts import EXAMPLES, begin

import agents
from nim_env import NimRules
from nim_env.envs.gym_env import NimEnv
from nim_env.policies import checked_policy
from nim_env.rendering import COLORS

sys.path.insert(0, str(PAGE))
import make_data

# --- Players ----------------------------------------------------------------------------------------


def table(player, name, rules):
    return np.reshape(player[name], (rules.n_positions, rules.n_actions))


def test_an_agent_is_tabulated(tmp_path):
    rules = NimRules((2, 3), max_take=2, misere=False)
    env = NimEnv((2, 3), max_take=2, misere=False, opponent=None)
    agent = agents.QLearningAgent(env.observation_space, env.action_space, seed=0)
    agents.train(agent, env, 300, seed=0)
    agent.save(tmp_path / "my.agent")
    player = json.loads(json.dumps(tabulate(str(tmp_path / "my.agent"), rules)))
    assert (player["name"], player["heaps"], player["max_take"], player["misere"]) == (
        "my.agent",
        [2, 3],
        2,
        False,
    )
    for position in rules.all_positions()[1:]:
        index, mask = rules.index(position), rules.action_mask(position)
        assert table(player, "values", rules)[index] == pytest.approx(agent.q_values(position), abs=1e-4)
        expected = agent.action_probabilities(position, mask)
        assert table(player, "probabilities", rules)[index].tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["expert", "random", "take-2", "mine.py:last"])
def test_a_policy_has_probabilities_only(name, tmp_path):
    (tmp_path / "mine.py").write_text(
        "def last(observation, action_mask): return int(action_mask.nonzero()[0][-1])"
    )
    rules = NimRules((2, 3))
    player = tabulate(name, rules)
    positions = rules.all_positions()[1:]
    masks = rules.action_mask(positions)
    expected = np.array(
        [np.eye(rules.n_actions)[mask.nonzero()[0][-1]] for mask in masks]
        if name == "mine.py:last"
        else checked_policy(name, rules).action_probabilities(positions, masks)
    )
    assert player["values"] is None
    assert table(player, "probabilities", rules)[1:] == pytest.approx(expected, abs=1e-4)


# --- The server -------------------------------------------------------------------------------------


@pytest.fixture
def ask():
    """A request to a running server: its status, type and answer."""
    with make_server([{"name": "mine"}], 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()

        def ask(path, **options):
            address = f"http://127.0.0.1:{server.server_port}/{path}"
            try:
                with urllib.request.urlopen(urllib.request.Request(address, **options)) as response:
                    return response.status, response.headers.get_content_type(), response.read()
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, None, error.read()

        ask.port = server.server_port
        yield ask
        server.shutdown()
        thread.join()


def test_the_server_has_the_page_and_the_players(ask):
    assert ask("")[2] == (PAGE / "index.html").read_bytes()
    assert ask("page.js")[:2] == (200, "text/javascript")
    assert json.loads(ask("data/players.json")[2]) == [{"name": "mine"}]
    assert ask("../play_in_browser.py")[0] == ask("nothing")[0] == 404


def test_only_this_machine_is_answered_and_nothing_can_be_changed(ask):
    for host in ("example.org", f"example.org:{ask.port}", "127.0.0.1.example.org", ""):
        assert ask("data/players.json", headers={"Host": host})[0] == 400
    assert ask("data/players.json", headers={"Host": f"localhost:{ask.port}"})[0] == 200
    assert ask("data/players.json", data=b"[]", method="POST")[0] == 501
    assert ask("data/players.json", data=b"[]", method="PUT")[0] == 501


def test_a_port_in_use(ask, refused):
    with refused("port", str(ask.port)):
        main(Args(port=ask.port, browser=False))


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (Args(port=70000), ["port", "70000"]),
        (Args(port=-1), ["port", "-1"]),
        (Args(heaps=(0, 3)), ["heaps", "0-3"]),
        (Args(heaps=(99,)), ["heaps", "99"]),
        (Args(heaps=(1,) * 16), ["heaps", "15"]),
        (Args(max_take=0), ["max_take", "0"]),
        (Args(agents=("nowhere.agent",)), ["nowhere.agent"]),
        (Args(agents=("broken.agent",)), ["broken.agent"]),
        (Args(agents=("illegal.py:zero",)), ["zero", "illegal"]),
        (Args(heaps=(30, 40, 50), agents=("expert",)), ["expert", "64,821", "20,000"]),
    ],
)
def test_wrong_arguments(args, words, refused, tmp_path):
    (tmp_path / "broken.agent").write_text("no agent")
    (tmp_path / "illegal.py").write_text("def zero(observation, action_mask): return 0")
    with refused(*words):
        main(args)


def test_the_process_prints_its_address_and_stops_at_ctrl_c(tmp_path):
    options = ["--heaps", 2, 3, "--no-misere", "--agents", "random", "--port", 0, "--no-browser"]
    process = begin("play_in_browser.py", *options, folder=tmp_path)
    address = re.search(r"http://127\.0\.0\.1:\d+/#heaps=2-3&last=wins&vs=random", process.stdout.readline())[0]
    with urllib.request.urlopen(address.replace("#", "data/players.json#")) as response:
        assert json.load(response)[0]["name"] == "random"
    process.send_signal(signal.SIGINT)
    output, error = process.communicate(timeout=30)
    assert (output, error.strip(), process.returncode) == ("", "stopped", 130)


# --- Data and colors of the page --------------------------------------------------------------------


@pytest.mark.parametrize("name", make_data.NETWORKS)
def test_the_networks_are_those_of_the_certificates(name):
    weights = json.loads((PAGE / "data" / f"network_{name}.json").read_text(encoding="utf-8"))
    with np.load(EXAMPLES / "learn_the_rule" / "certificates" / make_data.NETWORKS[name]) as certificate:
        assert bool(certificate["misere"]) == (name == "misere")
        assert set(certificate.files) - set(weights) == {"misere", "boxes", "states", "groups"}
        for key, values in weights.items():
            assert np.array_equal(np.array(values, np.float32), certificate[key])
    assert sum(np.size(values) for values in weights.values()) == 873


def test_the_script_writes_all_data(tmp_path):
    make_data.main(make_data.Args(folder=tmp_path, episodes=2000))
    for file in tmp_path.iterdir():
        if file.name != "five_heaps.json":
            assert file.read_bytes() == (PAGE / "data" / file.name).read_bytes()
    rules = make_data.FIVE_HEAPS
    values = np.frombuffer(
        base64.b64decode(json.loads((tmp_path / "five_heaps.json").read_text())["values"]), np.int8
    )
    assert len(values) == rules.action_mask(rules.all_positions()).sum()
    assert 0 < (values == make_data.NEVER_TRIED).mean() < 1
    assert json.loads((PAGE / "data" / "players.json").read_text()) == []


def tokens():
    """The colors of the page by name, in light and dark."""
    css = (PAGE / "style.css").read_text(encoding="utf-8")
    both = {name: pair for name, *pair in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", css)}
    return both | {name: [color] * 2 for name, color in re.findall(r"--(block-\w+): (#\w{6});", css)}


def test_the_page_has_the_palette_of_the_pictures():
    names = {"player_1": "p0", "player_2": "p1"}
    assert {name: tokens()[names.get(name, name)][0] for name in COLORS} == COLORS


def test_every_contrast_suffices():
    """WCAG 2.2: 4.5 for text, 3 for shapes. A tint is a color mixed with its background, as in style.css."""

    def luminance(color):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    for scheme in (0, 1):
        named = {name: np.array([*bytes.fromhex(pair[scheme][1:])]) / 255 for name, pair in tokens().items()}

        def tint(name, share, below):
            return share * named[name] + (1 - share) * named[below]  # noqa: B023

        grounds = {
            "page": named["page"],
            "card": named["card"],
            "sunk": named["sunk"],
            "block": named["block"],
            **{name: named[name] for name in ("p0", "p1", "good", "ink")},
            "status 0": tint("p0", 0.09, "page"),
            "status 1": tint("p1", 0.09, "page"),
            "flagged": tint("flag", 0.11, "page"),
            "verdict good": tint("good", 0.13, "card"),
            "verdict bad": tint("flag", 0.11, "card"),
            "chosen": tint("p0", 0.17, "page"),
        }
        texts = (
            "ink page,ink card,ink sunk,ink chosen,muted page,muted card,muted sunk,muted status 0,muted status 1"
        )
        texts += ",block-ink block,p0 page,p1 page,p0 card,p1 card,p0 chosen,good card,good verdict good,flag page"
        texts += ",flag card,flag sunk,flag flagged,flag verdict bad,on p0,on p1,page ink"
        shapes = "control page,control card,block-good block,block-flag block,block-p1 block,on good"
        for pairs, least in ((texts, 4.5), (shapes, 3)):
            for pair in pairs.split(","):
                name, _, ground = pair.partition(" ")
                high, low = sorted((luminance(named[name]), luminance(grounds[ground])), reverse=True)
                assert (high + 0.05) / (low + 0.05) >= least, (pair, scheme)


def test_the_page_asks_no_other_site():
    for file in PAGE.rglob("*.*"):
        if file.suffix in (".html", ".css", ".js"):
            assert not re.search(r"""(https?:)?//[a-z]+\.[a-z]""", file.read_text(encoding="utf-8"))
    assert make_data.FIVE_HEAPS.n_positions <= play_in_browser.MAX_POSITIONS
