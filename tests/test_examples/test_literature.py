"""literature.py: every player on a small board, and players that a user adds."""

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

import pandas as pd

from nim_env import NimRules, evaluation

from learn_the_rule import literature, train
from learn_the_rule.literature import Args, main


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Boards and trainings of less than a second."""
    monkeypatch.setattr(literature, "BOARDS", ((1, 2), (1, 2, 3)))
    published = [{"heaps": (1, 2, 3), "expert": 0.4, "value_accuracy_overall": 0.5, "seconds": 100}]
    monkeypatch.setattr(literature, "PUBLISHED", published)
    monkeypatch.setattr(literature, "MASKABLE_PPO_TIMESTEPS", 1)  # a rollout
    options = train.Args
    monkeypatch.setattr(train, "Args", lambda seed: options(seed=seed, n_heaps=2, max_heap=2, updates=3))


def test_rows_are_reports(tmp_path):
    (tmp_path / "mine.py").write_text("def last(observation, mask):\n    return mask.nonzero()[0][-1]\n")
    args = Args(add=("mine.py:last",), n_jobs=1)
    table = main(args)
    assert table["board"].tolist() == ["1-2"] * 5 + ["1-2-3"] * 6
    assert set(table["player"]) == {*literature.PLAYERS, literature.ALPHA_ZERO, "mine.py:last"}
    rules = NimRules((1, 2, 3), misere=False)
    rows = table[table["board"] == "1-2-3"].set_index("player")
    for player, policy in (("random play", "random"), ("mine.py:last", lambda _, mask: mask.nonzero()[0][-1])):
        for name, figure in evaluation.report(rules, policy).to_dict().items():
            assert rows.loc[player, name] == figure
    assert rows.loc["minimax-Q, table (master_large_nim.py)", "expert"] >= 0.999
    assert rows.loc[literature.ALPHA_ZERO, "expert"] == 0.4
    saved = pd.read_csv(tmp_path / "results" / "learn_the_rule" / "literature.csv")
    assert saved.shape == table.shape
    assert (tmp_path / "results" / "learn_the_rule" / "literature.png").read_bytes().startswith(b"\x89PNG")
    pd.testing.assert_frame_equal(main(args), table)  # from the cache, the seconds too


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"add": ("nobody",)}, ["nobody"]), ({"n_jobs": 0}, ["--n-jobs"])],
)
def test_wrong_values(wrong, words, refused):
    with refused(*words):
        main(Args(**wrong))
