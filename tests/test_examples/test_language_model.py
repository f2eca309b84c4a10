"""The script language_model.py: through a server of the chat interface, and with the small model."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

INSTALL = 'pip install "nim-env[examples,llm]"'
pytest.importorskip("transformers", reason=INSTALL)
pytest.importorskip("trl", reason=INSTALL)
pytest.importorskip("openai", reason=INSTALL)

import language_model  # noqa: E402

from nim_env import NimRules, TabularPolicy, evaluation, text  # noqa: E402
from nim_env.policies import checked_policy  # noqa: E402
from nim_env.rendering import heap_name  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")

RULES = NimRules((1, 2, 3))
POSITIONS = RULES.all_positions()[1:]
MASKS = RULES.action_mask(POSITIONS)


def table_of(player):
    """A player that always plays the first of its actions, and one that never names a move."""
    table = np.zeros((RULES.n_positions, RULES.n_actions))
    if player != "nonsense":
        weights = checked_policy(player, RULES).action_probabilities(POSITIONS, MASKS)
        table[1:] = np.eye(RULES.n_actions)[weights.argmax(axis=1)]
    return TabularPolicy(RULES, table)


@pytest.fixture
def serve():
    """Starts a server that answers as a player does; returns its address and what it was asked."""
    servers = []

    def start(player, fails=False, seconds=0.0):
        prompts = {
            text.describe(RULES, heaps): row
            for heaps, row in zip(POSITIONS, table_of(player).probabilities[1:], strict=True)
        }
        asked = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                prompt = request["messages"][0]["content"]
                asked.append(prompt)
                is_third = len(asked) % 3 == 0
                time.sleep(seconds)
                row = prompts[prompt]
                heap, count = RULES.moves[row.argmax()]
                answer = f"I take {count} from {heap_name(heap)}." if row.any() else "\0" * 100_000
                message = {"role": "assistant", "content": answer}
                choices = [{"index": 0, "finish_reason": "stop", "message": message}]
                usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
                reply = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": choices}
                body = json.dumps(reply | {"usage": usage}).encode()
                self.send_response(503 if fails and is_third else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}/v1", asked

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("player", "options"),
    [("expert", {}), ("random", {"fails": True}), ("take-3", {"seconds": 0.01}), ("nonsense", {})],
)
def test_a_player_behind_a_server_has_its_exact_figures(player, options, serve, tmp_path, capsys):
    address, asked = serve(player, **options)
    args = language_model.Args(server=address, model="m", folder=tmp_path)
    found = language_model.main(args)
    assert found == evaluation.report(RULES, table_of(player), illegal_action="lose")
    assert f"{7 * len(POSITIONS)} tokens" in capsys.readouterr().out
    assert (tmp_path / "language_model.svg").exists()
    n_asked = len(asked)
    assert language_model.main(args) == found
    assert len(asked) == n_asked


def test_no_server_is_one_line_and_loses_nothing(serve, tmp_path, monkeypatch):
    monkeypatch.setattr("openai._base_client.BaseClient._calculate_retry_timeout", lambda *_: 0.0)
    with pytest.raises(OSError, match=r"127\.0\.0\.1:1"):
        language_model.main(language_model.Args(server="http://127.0.0.1:1/v1", model="m", folder=tmp_path))
    address, _ = serve("expert")
    assert language_model.main(language_model.Args(server=address, model="m", folder=tmp_path)).champion


def test_the_small_model_learns_and_can_be_loaded(tmp_path):
    args = language_model.Args(heaps=(1, 2), max_steps=20, folder=tmp_path)
    found = language_model.main(args)
    assert found == language_model.main(args)
    rules = NimRules((1, 2))
    model, tokenizer = language_model.make_tiny(rules)
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    loaded = language_model.main(
        language_model.Args(heaps=(1, 2), model=str(tmp_path / "model"), max_tokens=3, folder=tmp_path)
    )
    assert 0 < loaded.illegal_action <= 1
