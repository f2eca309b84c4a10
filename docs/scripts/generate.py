"""Fills the parts of the pages that come from the code: python docs/scripts/generate.py.

A page marks such a part with ``<!-- generated: KIND NAME -->`` and ``<!-- end -->``, which no reader sees.
"""

import importlib
import inspect
import re
from pathlib import Path

import gymnasium as gym
import pettingzoo

import nim_env  # noqa: F401  registers the environments

FOLDER = Path(__file__).parents[1]
PART = re.compile(r"(<!-- generated: (\w+) (.+) -->\n)(?s:.*?)(<!-- end -->)")


def gymnasium_table(env_id):
    """The table at the top of an environment's page."""
    env = gym.make(env_id).unwrapped
    return _spaces_table(env.action_space, env.observation_space, f'gymnasium.make("{env_id}")')


def pettingzoo_table(env_id):
    """The same for PettingZoo."""
    env = pettingzoo.make("aec", env_id)
    observation_space = env.observation_space("player_0")["observation"]
    return _spaces_table(env.action_space("player_0"), observation_space, f'pettingzoo.make("aec", "{env_id}")')


def _spaces_table(action_space, observation_space, creation):
    rows = [("Action space", action_space), ("Observation space", observation_space), ("Creation", creation)]
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | `{value}` |" for name, value in rows)])


def docstring(name):
    """The docstring of an environment, which is Markdown, without its first line."""
    module, _, attribute = name.rpartition(".")
    documented = getattr(importlib.import_module(module), attribute)
    return inspect.getdoc(documented).partition("\n\n")[2].replace("\n###", "\n##").strip()


KINDS = {function.__name__: function for function in (gymnasium_table, pettingzoo_table, docstring)}


def generate(text):
    """The page with its generated parts made anew."""

    def fill(match):
        start, kind, name, end = match.groups()
        return f"{start}\n{KINDS[kind](name)}\n\n{end}"

    return PART.sub(fill, text)


if __name__ == "__main__":
    for page in FOLDER.rglob("*.md"):
        old = page.read_text(encoding="utf-8")
        new = generate(old)
        if new != old:
            page.write_text(new, encoding="utf-8")
            print(f"{page.relative_to(FOLDER.parent)} changed")
