"""play_in_browser.py without a browser: its players, its server and the data and colors of its page."""

import json
import re
import runpy
import threading
import urllib.error
import urllib.request

import numpy as np
import pytest
from play_in_browser import PAGE, Args, link, main, make_server, tabulate

import agents
from nim_env import NimEnv, NimRules
from nim_env.rendering.appearance import COLORS, DARK_COLORS

RULES = NimRules((2, 3), max_take=2, misere=False)


def test_an_agent_is_tabulated(tmp_path):
    env = NimEnv(RULES.heaps, RULES.max_take, RULES.misere, opponent=None)
    agent = agents.QLearningAgent(env.observation_space, env.action_space, seed=0)
    agents.train(agent, env, 300, seed=0)
    agent.save(tmp_path / "my.agent")
    player = json.loads(json.dumps(tabulate(str(tmp_path / "my.agent"), RULES)))
    positions = RULES.all_positions()[1:]
    expected = agent.action_probabilities(positions, RULES.action_mask(positions))
    for name, array in (("values", agent.q_values(positions)), ("probabilities", expected)):
        shown = np.reshape(player[name], (RULES.n_positions, RULES.n_actions))[1:]
        np.testing.assert_allclose(shown, array, atol=1e-4)
    assert link(RULES, ["my.agent"]) == "#heaps=2-3&last=wins&take=2&vs=my.agent"
    assert link(NimRules((3, 4)), []) == "#heaps=3-4&last=loses"


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
                    assert response.headers["X-Content-Type-Options"] == "nosniff"
                    assert response.headers["Cache-Control"] == "no-cache"
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


def test_a_port_in_use(ask, refused):
    with refused("port", str(ask.port)):
        main(Args(port=ask.port, browser=False))


def test_the_script_writes_the_networks_of_the_certificates(tmp_path):
    runpy.run_path(str(PAGE.parents[1] / "docs" / "scripts" / "make_page_data.py"))["main"](tmp_path)
    files = list(tmp_path.iterdir())
    assert len(files) == 2
    for file in files:
        assert file.read_bytes() == (PAGE / "data" / file.name).read_bytes()


@pytest.mark.parametrize("repository", [None, "https://github.com/me/nim"])
def test_the_site_fills_in_the_addresses(repository):
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<a (?!class=.skip)[^>]*href", html)  # without an address the page hides its links
    assert 'property="og:title"' in html
    filled = runpy.run_path(str(PAGE.parents[1] / "docs" / "scripts" / "fill_page.py"))["filled"](html, repository)
    links = re.findall(r'<a [^>]*href="([^#][^"]*)"', filled)
    expected = ["../getting_started.html#a-first-agent", "../index.html"]
    assert sorted(links) == expected + ([repository] if repository else [])
    for target in expected:
        page, _, section = target.removeprefix("../").partition("#")
        text = (PAGE.parents[1] / "docs" / page.replace(".html", ".md")).read_text(encoding="utf-8")
        assert section in text.lower().replace(" ", "-")
    image = 'property="og:image" content="https://me.github.io/nim/_static/preview.png"'
    assert (image in filled) == bool(repository)


def test_the_page_has_the_palette_of_the_pictures():
    css = (PAGE / "style.css").read_text(encoding="utf-8")
    colors = {name: pair for name, *pair in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", css)}
    names = {"player_1": "p0", "player_2": "p1"}
    for name, pair in zip(COLORS, zip(COLORS.values(), DARK_COLORS.values(), strict=True), strict=True):
        assert colors[names.get(name, name)] == list(pair)
