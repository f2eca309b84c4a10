"""Settings of the documentation site: sphinx-build -W docs docs/_build/html."""

import importlib
import inspect
import re
import shutil
from pathlib import Path

import gymnasium as gym
import pettingzoo
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

import nim_env

FOLDER = Path(__file__).parent
NOTEBOOKS = FOLDER.parent / "examples" / "notebooks"  # pages must lie below this folder
shutil.copytree(NOTEBOOKS, FOLDER / "notebooks", ignore=shutil.ignore_patterns("*.gif"), dirs_exist_ok=True)

PAGE = FOLDER.parent / "examples" / "page"

project = "nim-env"
author = "The nim-env authors"
copyright = "2026, The nim-env authors"  # noqa: A001  Sphinx calls it so
version = release = nim_env.__version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
exclude_patterns = ["_build"]
nitpicky = True  # a reference to nothing is a warning
nitpick_ignore_regex = [
    ("py:.*", r"(abc|collections|gymnasium|np|numpy|os|pettingzoo|pygame|stable_baselines3|typing)\..*"),
    ("py:class", r"(\w+\.)*(AnyEnv|NDArray|_\w+)"),  # type variables and what is private
]

html_theme = "furo"
html_title = "nim-env"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
copybutton_exclude = ".linenos, .gp, .go"  # prompts and output are not copied

myst_enable_extensions = ["attrs_inline", "dollarmath", "substitution"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # the notebooks hold their outputs, and tests run them

autodoc_member_order = "bysource"
autodoc_mock_imports = ["stable_baselines3", "torch"]
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True}
napoleon_use_ivar = True

PAGES = {  # whose docstrings are pages, in Markdown
    "nim_env.gym_env.NimEnv": "environments/nim",
    "nim_env.vector_env.NimVectorEnv": "environments/vector",
    "nim_env.aec_env": "environments/aec",
}


def spaces_table(action_space, observation_space, creation):
    """The table at the top of an environment's page."""
    rows = [("Action space", action_space), ("Observation space", observation_space), ("Creation", creation)]
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | `{value}` |" for name, value in rows)])


def gymnasium_table(env_id):
    env = gym.make(env_id).unwrapped
    return spaces_table(env.action_space, env.observation_space, f'gymnasium.make("{env_id}")')


def pettingzoo_table(env_id):
    env = pettingzoo.make("aec", env_id)
    observation_space = env.observation_space("player_0")["observation"]
    return spaces_table(env.action_space("player_0"), observation_space, f'pettingzoo.make("aec", "{env_id}")')


myst_substitutions = {
    "nim": gymnasium_table("Nim-v0"),
    "simple_nim": gymnasium_table("SimpleNim-v0"),
    "nim_aec": pettingzoo_table("nim-v0"),
    "simple_nim_aec": pettingzoo_table("simple_nim-v0"),
}


class EnvironmentDocstring(SphinxDirective):
    """The docstring of an environment, which is Markdown, without its first line."""

    required_arguments = 1

    def run(self):
        module, _, name = self.arguments[0].rpartition(".")
        documented = getattr(importlib.import_module(module), name)
        text = inspect.getdoc(documented).partition("\n\n")[2].replace("\n###", "\n##")
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def link_to_page(app, what, name, documented, options, lines):  # noqa: ARG001
    """The API reference links to the page of an environment instead of repeating its docstring."""
    if name in PAGES:
        lines[1:] = ["", f"Its page is :doc:`/{PAGES[name]}`.", ""]


def skip_fields(app, what, name, documented, skip, options):  # noqa: ARG001
    """The fields of a named tuple are described in the docstring of the tuple."""
    return True if (documented.__doc__ or "").startswith("Alias for field number") else None


def resolve_short_name(app, env, node, contnode):
    """``NimRules.positions`` refers to ``nim_env.rules.NimRules.positions`` in every docstring."""
    domain = env.get_domain("py")
    target = re.sub(r".*\._\w+\.", "", node["reftarget"])  # a public name that is defined in a private module
    names = [name for name in domain.objects if name.endswith(f".{target}")]
    if len({domain.objects[name].node_id for name in names}) != 1:
        return None
    entry = domain.objects[names[0]]
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, contnode)


def copy_page(app, exception):
    """The page on which you play, for the iframe of play.md."""
    if exception is None and app.builder.format == "html":
        ignored = shutil.ignore_patterns("*.py", "__pycache__")
        shutil.copytree(PAGE, Path(app.outdir) / "page", ignore=ignored, dirs_exist_ok=True)


def setup(app):
    app.add_directive("environment-docstring", EnvironmentDocstring)
    app.connect("autodoc-process-docstring", link_to_page)
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("build-finished", copy_page)
    app.connect("missing-reference", resolve_short_name)
