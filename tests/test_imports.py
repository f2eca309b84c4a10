"""What imports what, what importing costs, and that no module uses another's private names."""

import ast
import graphlib
import importlib
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pytest

import agents
import nim_env

NIM_ENV, AGENTS = Path(nim_env.__file__).parent, Path(agents.__file__).parent
FILES = sorted([*NIM_ENV.rglob("*.py"), *AGENTS.rglob("*.py")])
LAYERS = [  # each module imports from those before it only; a package, its __init__.py, comes after its modules
    "rules",
    "theory",
    "_chunks",
    "encodings",
    "policies",
    "solver",
    "evaluation.exact",
    "evaluation.reports",
    "evaluation.matches",
    "evaluation",
    "rendering",
    "envs._options",
    "envs._positions",
    "envs.gym_env",
    "envs.aec_env",
    "envs._dynamics",
    "envs._direct_dynamics",
    "envs._tabular_dynamics",
    "envs.vector_env",
    "envs",
    "rllib",
    "sb3",
    "",  # nim_env itself
]
EVERY_FILE = pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")


def parse(file):
    return ast.parse(file.read_text(encoding="utf-8"))


def imports_of(tree):
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "a relative import"
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return found


def file_of(layer):
    path = NIM_ENV / layer.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def layer_of(name):
    """The layer that defines an imported name of nim_env."""
    parts = name.split(".")[1:]
    while ".".join(parts) not in LAYERS:
        parts.pop()
    return ".".join(parts)


def upward_imports(tree, layer):
    """The layers that a module imports and that do not come before its own."""
    found = {layer_of(name) for name in imports_of(tree) if name.split(".")[0] == "nim_env"}
    return found - set(LAYERS[: LAYERS.index(layer)])


def private_names(tree, packages=("nim_env", "agents")):
    """The underscored names of other modules that a module imports, or accesses as attributes of modules."""
    found, modules = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] in packages:
            names = {name.name for name in node.names}
            if node.module in packages:  # modules, such as nim_env._chunks, may have an underscore
                modules |= {name.asname or name.name for name in node.names}
            else:
                found |= {f"{node.module}.{name}" for name in names if name.startswith("_")}
        elif isinstance(node, ast.Import):
            modules |= {name.asname or name.name.split(".")[0] for name in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            owner = node.value
            while isinstance(owner, ast.Attribute):
                owner = owner.value
            if isinstance(owner, ast.Name) and owner.id in modules:
                found.add(ast.unparse(node))
    return found


@EVERY_FILE
def test_packages_do_not_import_each_other(file):
    other = "agents" if file.is_relative_to(NIM_ENV) else "nim_env"
    assert not {name for name in imports_of(parse(file)) if name.split(".")[0] == other}


@EVERY_FILE
def test_no_private_names_of_other_modules(file):
    assert not private_names(parse(file))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("from nim_env.rules import _shortened", {"nim_env.rules._shortened"}),
        ("from nim_env import rules\nrules._shortened(1)", {"rules._shortened"}),
        ("import nim_env.rules\nnim_env.rules._shortened(1)", {"nim_env.rules._shortened"}),
        ("import numpy as np\nnp._private", {"np._private"}),
        ("from nim_env import _chunks as c\nc.chunks(1)", set()),
        ("from nim_env._chunks import chunks\nself._private", set()),
    ],
)
def test_private_names_are_found(code, expected):
    assert private_names(ast.parse(code)) == expected


def test_rules_stand_alone():
    found = {name.split(".")[0] for name in imports_of(parse(file_of("rules")))}
    assert found - set(sys.stdlib_module_names) == {"numpy"}


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_run_one_way(layer):
    assert not upward_imports(parse(file_of(layer)), layer)


@pytest.mark.parametrize(
    ("layer", "code", "expected"),
    [
        ("evaluation.exact", "from nim_env.evaluation.reports import Report", {"evaluation.reports"}),
        ("evaluation.reports", "from nim_env.evaluation import Mastery", {"evaluation"}),
        ("theory", "def late():\n    from nim_env import NimRules", {""}),
        ("rules", "import nim_env.envs.gym_env", {"envs.gym_env"}),
        ("envs._options", "from nim_env.envs import gym_env, _options", {"envs.gym_env", "envs._options"}),
        ("solver", "from nim_env import rules\nfrom nim_env.policies import RandomPolicy", set()),
    ],
)
def test_upward_imports_are_found(layer, code, expected):
    assert upward_imports(ast.parse(code), layer) == expected


def test_every_module_has_a_layer():
    assert sorted(map(file_of, LAYERS)) == sorted(NIM_ENV.rglob("*.py"))


def test_agents_import_without_circles():
    """Not even for types: agent before tables, these before Q-learning, minimax-Q last."""
    graph = {
        file.stem: {name.split(".")[1] for name in imports_of(parse(file)) if name.startswith("agents.")}
        for file in AGENTS.glob("*.py")
        if file.stem != "__init__"
    }
    order = list(graphlib.TopologicalSorter(graph).static_order())  # an error if there is a circle
    assert set(order) == set(graph)
    assert graph["minimax_q"] == {"q_learning"}
    assert {"tables", "tabular_agent"} <= graph["q_learning"]
    assert {"tables", "agent"} <= graph["tabular_agent"]


@pytest.mark.parametrize(
    ("modules", "unwanted"),
    [
        ("nim_env", "agents nim_env.sb3"),
        ("agents", "nim_env"),
        (
            "nim_env, agents",
            "pygame matplotlib torch scipy pandas tqdm rich PIL stable_baselines3",
        ),
    ],
)
def test_importing_is_light(modules, unwanted):
    code = f"import sys, {modules}; print([name for name in {unwanted.split()!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_everything_public_is_there_after_the_import():
    modules = {layer.removeprefix("envs.") for layer in LAYERS} - {"", "envs", "sb3"}
    public = {module for module in modules if "." not in module and not module.startswith("_")}
    assert public <= set(nim_env.__all__)
    names = [*nim_env.__all__, *(f"evaluation.{name}" for name in nim_env.evaluation.__all__)]
    names += ["encodings.checked_encoding", "rllib.masked_dict", "policies.batched"]
    code = "import nim_env; " + "; ".join(f"nim_env.{name}" for name in names)
    subprocess.run([sys.executable, "-c", code], check=True)


def test_missing_packages_name_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    env = gym.make("Nim-v0")
    agent = agents.QLearningAgent(env.observation_space, env.action_space)
    with pytest.raises(gym.error.DependencyNotInstalled, match="pip install tqdm"):
        agents.train(agent, env, 1, progress=True)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "nim_env.sb3", raising=False)
    with pytest.raises(gym.error.DependencyNotInstalled, match=r"pip install \"nim-env\[sb3\]\""):
        importlib.import_module("nim_env.sb3")


@pytest.mark.parametrize("package", [NIM_ENV, AGENTS])
def test_packages_are_typed(package):
    assert (package / "py.typed").exists()
