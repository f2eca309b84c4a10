"""Fills the parts of the pages that come from the code: python docs/scripts/generate.py.

A page marks such a part with ``<!-- generated: KIND NAME -->`` and ``<!-- end -->``, which no reader sees.
"""

import ast
import contextlib
import functools
import importlib
import inspect
import io
import itertools
import pkgutil
import re
import sys
import tempfile
import textwrap
from pathlib import Path

import gymnasium as gym
import pettingzoo

import nim_env  # noqa: F401  registers the environments

FOLDER = Path(__file__).parents[1]
PAGES = [FOLDER.parent / "README.md", *FOLDER.rglob("*.md")]
PART = re.compile(r"(<!-- generated: (\w+) (.+) -->\n)(?s:.*?)(<!-- end -->)")


def gymnasium_table(env_id):
    """The table at the top of an environment's page."""
    env = gym.make(env_id).unwrapped
    return _spaces_table(env.action_space, env.observation_space, f'gymnasium.make("{env_id}")')


def pettingzoo_table(env_id):
    """The same for PettingZoo."""
    env = pettingzoo.make("aec", env_id)
    spaces = env.action_space("player_0"), env.observation_space("player_0")
    return _spaces_table(*spaces, f'pettingzoo.make("aec", "{env_id}")')


def _spaces_table(action_space, observation_space, creation):
    rows = [("Action space", action_space), ("Observation space", observation_space), ("Creation", creation)]
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | `{value}` |" for name, value in rows)])


def docstring(name):
    """The docstring of an environment, which is Markdown, without its first line."""
    module, _, attribute = name.rpartition(".")
    documented = getattr(importlib.import_module(module), attribute)
    return inspect.getdoc(documented).partition("\n\n")[2].replace("\n###", "\n##").strip()


ROUTES = {
    "step": (
        "nim_env.board",
        "nim_env.envs.gym_env.NimEnv.step",
        "nim_env.envs.gym_env.NimEnv._get_info",
        "nim_env.envs._single_game.SingleGame._state_after",
        "nim_env.envs._results.StepResult",
        "nim_env._internal.caching.StateCache",
        "nim_env.board.Board.indices",
        "nim_env.board.Board.is_over",
        "nim_env.board.Board.is_illegal",
        "nim_env.board.Board.rewards",
        "nim_env.rules.NimRules.offsets",
        "nim_env.rules.NimRules.from_index",
        "nim_env.rules.NimRules.action_mask",
        "nim_env.envs._replies.FixedReplies.draw",
        "nim_env.envs._reply_distribution.ReplyLists.of_state",
        "nim_env.envs._reply_distribution.ReplyLists._new_lists",
        "nim_env.envs._reply_distribution.ReplyDistribution.weights",
    ),
    "vector_step": (
        "nim_env.board",
        "nim_env.envs.vector_env.NimVectorEnv.step",
        "nim_env.envs.vector_env.NimVectorEnv._restart",
        "nim_env.envs.vector_env.NimVectorEnv._get_infos",
        "nim_env.envs.vector_env.NimVectorEnv._final_infos",
        "nim_env.board.Board.indices",
        "nim_env.board.Board.is_over",
        "nim_env.board.Board.rewards",
        "nim_env.board.Board.masks",
        "nim_env.board.Board.next_indices",
        "nim_env.board.Board.next_states",
        "nim_env.board.Board.states_after_reply",
        "nim_env.board.TabulatedBoard",
        "nim_env.envs._results.Observations.of",
        "nim_env.envs._opponents.GameOpponents.with_new_opponents",
        "nim_env.envs._opponents.Roster.draw_replies",
        "nim_env.envs._replies.Replies.draw_batch",
        "nim_env.envs._replies.FixedReplies.draw_batch",
        "nim_env.envs._reply_distribution.ReplyDistribution.weights",
        "nim_env.envs._reply_distribution.ReplyLists.for_start",
        "nim_env.envs._reply_distribution.ReplyLists.all_lists",
        "nim_env.envs._reply_distribution.ReplyLists._new_lists",
        "nim_env._internal.draws.AliasLists.draw",
    ),
    "update": (
        "agents.training._gymnasium_episode",
        "agents.q_learning.QLearningAgent.act",
        "agents.q_learning.QLearningAgent.update",
        "agents.q_learning.QLearningAgent._current_value",
        "agents.agent.Agent.checked_action",
        "agents._observations.legal_columns",
        "agents.tables.Table.row",
        "agents.tables.Table.get",
    ),
    "vector_update": (
        "agents.vector_training",
        "agents.vector_training.Observed",
        "agents.vector_training.Step",
        "agents.vector_training.vector_episodes",
        "agents.vector_training.vector_steps",
        "agents.vector_training.choose_actions",
        "agents.vector_training.copy_observed",
        "agents.vector_training.copy_final_observed",
        "agents.vector_training.take_rows",
        "agents.vector_training.step_transitions",
        "agents.vector_training.own_turn_transitions",
        "agents.q_learning.QLearningAgent.act_batch",
        "agents.q_learning.QLearningAgent.update_batch",
        "agents.q_learning.QLearningAgent._legal_values",
        "agents.q_learning.td_update",
        "agents.q_learning._powers",
        "agents.q_learning.uniform_choice",
        "agents.tables.Table.rows",
    ),
    "mastery": (
        "nim_env.evaluation.accuracy.Mastery",
        "nim_env.evaluation.accuracy.mastery",
        "nim_env.evaluation.accuracy.MasterySweep",
        "nim_env.solver.PositionBatch",
        "nim_env.solver.iter_positions",
        "nim_env.policies.player.Player",
        "nim_env.policies.player.checked_probabilities",
        "nim_env.policies.policy_like.checked_player",
        "nim_env.board.Board.layers",
        "nim_env.board.Board.masks",
        "nim_env.board.Board.next_indices",
    ),
    "diagnosis": (
        "nim_env.evaluation.diagnosis",
        "nim_env.evaluation.diagnosis.decision.diagnose",
        "nim_env.evaluation.diagnosis.inputs.Pairs",
        "nim_env.evaluation.diagnosis.inputs.Inputs",
        "nim_env.evaluation.diagnosis.equations",
        "nim_env.evaluation.diagnosis.equations.Equation",
        "nim_env.evaluation.diagnosis.equations.buggy_equations",
        "nim_env.evaluation.diagnosis.equations.Assumptions",
        "nim_env.evaluation.diagnosis.learner.Target",
        "nim_env.evaluation.diagnosis.learner.Learner",
        "nim_env.evaluation.diagnosis.evidence.distance",
        "nim_env.evaluation.diagnosis.evidence.impossible_values",
        "nim_env.evaluation.diagnosis.evidence.fraction_explained",
        "nim_env.evaluation.diagnosis.evidence.satisfies_bellman",
        "nim_env.evaluation.diagnosis.evidence.is_proven",
        "nim_env.evaluation.diagnosis.symptoms.first_symptom",
        "nim_env.evaluation.diagnosis.alternatives.diagnosis_under_other_assumptions",
        "nim_env.evaluation.diagnosis.findings.Diagnosis",
    ),
    "check": (
        "nim_env.check.command.main",
        "nim_env.check.command._examine_in_process",
        "nim_env.check.foreign_code.run_in_process",
        "nim_env.check.examination.examine",
        "nim_env.check.players.LoadedPlayer",
        "nim_env.check.players.load_player",
        "nim_env.check.players.player_of",
        "nim_env.check.values.find_values",
        "nim_env.check.specification",
        "nim_env.check.specification.faults",
        "nim_env.check.examination.probabilities_of",
        "nim_env.evaluation.assessment.Assessment",
        "nim_env.evaluation.assessment.assess",
        "nim_env.check.examination._summary",
    ),
}


def route(name):
    """What one reads to understand one thing, by file: lines and statements. A module is its docstring."""
    files = {}
    for dotted in ROUTES[name]:
        documented = pkgutil.resolve_name(dotted)
        code = inspect.unwrap(getattr(documented, "func", documented))  # of a cached property or function
        file = Path(inspect.getsourcefile(code)).relative_to(FOLDER.parent).as_posix()
        module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        label = dotted.removeprefix(module).lstrip(".")
        source = inspect.getsource(code) if label else code.__doc__
        counts = len(source.splitlines()), _n_statements(source) if label else 0
        files.setdefault(file, []).append((f"`{label}`" if label else "its docstring", counts))
    rows = ["| file | read | lines | statements |", "|---|---|--:|--:|"]
    totals = [0, 0]
    for file, read in files.items():
        sums = [sum(counts[i] for _, counts in read) for i in (0, 1)]
        totals = [total + number for total, number in zip(totals, sums, strict=True)]
        rows.append(f"| [{file}](../{file}) | {', '.join(label for label, _ in read)} | {sums[0]} | {sums[1]} |")
    return "\n".join([*rows, f"| {len(files)} files | | {totals[0]} | {totals[1]} |"])


def _n_statements(source):
    """The number of statements, each on one line, without docstrings."""
    tree = ast.parse(textwrap.dedent(source))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            node.body[0].value.value = ""  # unparsed as one line, which is not counted
    return sum(line.strip() not in ("", '""""""', "''") for line in ast.unparse(tree).splitlines())


def findings(module):
    """The names of findings, each with its meaning: the docstring of the constant, or its words in KNOWN_BUGS."""
    documented = importlib.import_module(module)
    rows = ["| finding | means |", "|---|---|"]
    statements = ast.parse(inspect.getsource(documented)).body
    for statement, following in itertools.pairwise(statements):
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            name = statement.value.value
            in_words = documented.KNOWN_BUGS.get(name)
            meaning = f"{in_words[0].upper()}{in_words[1:]}." if in_words else following.value.value
            rows.append(f"| `{name}` | {' '.join(meaning.split()).replace('``', '`')} |")
    return "\n".join(rows)


GAME = ("rules", "theory", "board", "encodings")
PARTS = ("game", "solver", "policies", "envs", "evaluation", "rendering", "check", "testing", "_internal")
FOR_OTHER_LIBRARIES = ("sb3", "rllib", "pgx", "openspiel", "text")


def parts(package):
    """The parts of a package: what each holds, what it imports and what imports it."""
    folder = FOLDER.parent / package
    statement = re.compile(rf"^ *from {package}(?:\.(\w+)[\w.]*)? import (.+)$", re.MULTILINE)
    imports = {}
    for file in folder.rglob("*.py"):
        part = _part(file.relative_to(folder).with_suffix("").parts[0])
        found = statement.findall(file.read_text(encoding="utf-8"))
        names = {_part(module or name) for module, names in found for name in names.split(", ")}
        imports.setdefault(part, set()).update(names - {part})
    rows = ["| part | holds | imports | imported by |", "|---|---|---|---|"]
    for part in (*PARTS, *FOR_OTHER_LIBRARIES):
        label = f"`{part}`"
        holds = "the rules, the theory, positions by number, and observations"
        if part == "game":
            label = f"the game: {', '.join(f'`{name}`' for name in GAME)}"
        else:
            file = folder / f"{part}.py"
            source = (file if file.exists() else folder / part / "__init__.py").read_text(encoding="utf-8")
            holds = ast.get_docstring(ast.parse(source)).partition("\n")[0].rstrip(".")
        users = {other for other, names in imports.items() if part in names and other != "__init__"}
        named = [", ".join(sorted(name.strip("_") for name in names)) or "–" for names in (imports[part], users)]
        rows.append(f"| {label} | {holds.replace('``', '`')} | {' | '.join(named)} |")
    return "\n".join(rows)


def _part(module):
    return "game" if module in GAME else module


IDS = {  # id in Gymnasium, game, id in PettingZoo
    "Nim-v0": ("1-3-5-7, misère", "nim-v0"),
    "NimOneHot-v0": ("1-3-5-7, misère, one-hot", None),
    "SimpleNim-v0": ("21, take 1 to 3, normal", "simple_nim-v0"),
}


def ids(_):
    """The table of the registered environments."""
    rows, two_players = [], []
    for name, (game, pettingzoo_name) in IDS.items():
        env = gym.make(name)
        rows.append(f"| `{name}` | {game} | {env.action_space.n} | `info` | `{env.observation_space}` |")
        if pettingzoo_name:
            env = pettingzoo.make("aec", pettingzoo_name)
            space = env.observation_space("player_0")["observation"]
            n = env.action_space("player_0").n
            two_players.append(
                f"| `{pettingzoo_name}` (PettingZoo) | {game} | {n} | `observation` | `Dict` with `{space}` |"
            )
    header = [
        '| id | heaps and rule | actions | `"action_mask"` in | observation space |',
        "|---|---|--:|---|---|",
    ]
    return "\n".join([*header, *rows, *two_players])


BOARDS = {"21": {}, "1-3-5-7": {"heaps": (1, 3, 5, 7), "max_take": None, "misere": True}}


@functools.cache
def _comparison(board):
    """What the main script prints, without the lines on its pictures."""
    sys.path.append(str(FOLDER.parent / "examples"))
    import compare_opponents  # here, since the site is built without the packages of the scripts

    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
        compare_opponents.main(compare_opponents.Args(**BOARDS[board], folder=Path(folder)))
    return printed.getvalue().partition("\npicture:")[0].strip()


def _sentence(printed):
    """A sentence on how well Q-learning plays, depending on what it was trained against."""
    names = {"self-play": "itself", "expert": "the expert"}
    opponents_by_share = {}
    for opponent, share in re.findall(r"^q-learning, (\S+) .* (\S+) +(?:yes|no)$", printed, re.MULTILINE):
        opponents_by_share.setdefault(share, []).append(names.get(opponent, opponent))
    phrases = [
        f"{share} % when trained against {_joined(opponents, ' or ')}"
        for share, opponents in sorted(opponents_by_share.items(), key=lambda item: float(item[0]), reverse=True)
    ]
    phrases[0] = phrases[0].replace("%", "% of the winning positions right", 1)
    return textwrap.fill(f"Q-learning plays {_joined(phrases, ', and ')}.", 100)


def _joined(words, conjunction):
    """The words as a list in a sentence, such as "a, b or c"."""
    *first, last = words
    return conjunction.join([", ".join(first), last]) if first else last


def comparison(board_and_form):
    """The results of the main script: a sentence on Q-learning, all printed text, or the learners as a table."""
    board, form = board_and_form.split()
    printed = _comparison(board)
    sentence = _sentence(printed)
    if form == "sentence":
        return sentence
    if form == "text":
        return f"```text\n{printed}\n```\n\n{sentence}"
    learners = {"q-learning": "Q-learning", "minimax-q": "minimax-Q", "win-counting": "win counting"}
    rows = [
        "| learner | trained against | positions right | vs random | vs take-3 | vs expert |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for line in printed.splitlines():
        learner, _, rest = line.partition(", ")
        if learner in learners:
            opponent, *wins, right, _ = rest.replace("self-play", "itself").split()
            rows.append(f"| {' | '.join([learners[learner], opponent, right, *wins])} |")
    return "\n".join([*rows, "", sentence])


FUNCTIONS = (gymnasium_table, pettingzoo_table, docstring, route, findings, parts, ids, comparison)
KINDS = {function.__name__: function for function in FUNCTIONS}


def generate(text):
    """The page with its generated parts made anew."""

    def fill(match):
        start, kind, name, end = match.groups()
        return f"{start}\n{KINDS[kind](name)}\n\n{end}"

    return PART.sub(fill, text)


if __name__ == "__main__":
    for page in PAGES:
        old = page.read_text(encoding="utf-8")
        new = generate(old)
        if new != old:
            page.write_text(new, encoding="utf-8")
            print(f"{page.relative_to(FOLDER.parent)} changed")
