"""A language model plays Nim in words: an exact evaluation, and reinforcement learning.

The script asks a model about every position of the board, and the evaluation counts its answers exactly. An answer
without a legal move loses the game. The model is on a server of the OpenAI chat interface, in a folder or on the
hub of Hugging Face, or the tiny one, which this script makes and trains in a minute or two.

    python examples/language_model.py
    python examples/language_model.py --model FOLDER --heaps 1 3 5
    python examples/language_model.py --model NAME --server http://localhost:8000/v1 --heaps 1 3 5 7

A server's key is read from the environment variable OPENAI_API_KEY. The answers are kept in --folder, so the same
command continues after an interruption. Delete their file after a change of the model.

The tiny model learns the form of an answer from random legal moves, and then to win by GRPO (Shao et al. 2024,
arXiv:2402.03300, section 4.1) with the exact reward of each move (nim_env.text.move_reward).

Install: pip install -e ".[examples,llm]"
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import openai
from tqdm import tqdm

from nim_env import NimRules, evaluation, text

from common import run, show_report


@dataclass
class Args:
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 2, 3)
    """Starting heap sizes; the model is asked about every position of the board."""
    max_take: int | None = None
    """The maximum number of objects that one move may take; None for no limit."""
    misere: bool = True
    """Whether the player who takes the last object loses."""
    model: str = "tiny"
    """The model: its name on the server or the hub, its folder, or tiny."""
    server: str | None = None
    """The base URL of a server of the OpenAI chat interface; None for a model that runs here."""
    style: text.Style = "nim"
    """The words of the prompts: the game's name, its rules without the name, or a story about numbers."""
    samples: int = 1
    """The number of answers for each position. Models that run here are greedy with 1, and else sample."""
    max_tokens: int = 1024
    """The maximum number of tokens of an answer."""
    concurrency: int = 8
    """The number of requests to the server at the same time."""
    max_steps: int = 200
    """The number of updates of the tiny model by GRPO."""
    seed: int = 0
    """Random seed of the models that run here."""
    folder: Path = Path("results/language_model")
    """Where the answers and the figure are saved."""


def main(args: Args) -> evaluation.Report:
    """Asks the model about every position, prints and draws the figures, and returns them."""
    rules = NimRules(args.heaps, args.max_take, args.misere)
    args.folder.mkdir(parents=True, exist_ok=True)
    path = args.folder / f"{args.model.strip('/').replace('/', '_')}.jsonl"
    if args.server is not None:
        complete = ask_server(args)
    else:
        import local_models  # here, since a server needs neither PyTorch nor the seconds of its import

        if args.model == "tiny":
            path.unlink(missing_ok=True)  # of an earlier training
            folder, max_tokens = args.folder / "tiny", local_models.TINY_TOKENS
            local_models.train_tiny(rules, args.style, args.max_steps, args.seed, folder)
        else:
            folder, max_tokens = args.model, args.max_tokens
        complete = local_models.ask(folder, max_tokens, args.samples > 1, args.seed)
    player = text.LanguageModelPolicy(rules, complete, args.samples, args.style, path)
    n_kept = sum(len(answers) for answers in player.answers.values())
    print(
        f"{rules}: {(rules.n_positions - 1) * args.samples} prompts, {n_kept} answers kept from before", flush=True
    )
    report = evaluation.report(rules, player, illegal_action="lose")
    show_report(report, f"{args.model}, {rules}", args.folder / "language_model.svg")
    return report


def ask_server(args: Args) -> Callable[[list[str]], Iterator[str]]:
    """A function from prompts to answers that asks a server; it prints the number of tokens."""
    key = os.environ.get("OPENAI_API_KEY", "none")  # a local server needs none
    client = openai.OpenAI(base_url=args.server, api_key=key, max_retries=4)

    def ask(prompt: str) -> tuple[str, int]:
        messages = [{"role": "user", "content": prompt}]
        response = client.chat.completions.create(
            model=args.model, messages=messages, max_completion_tokens=args.max_tokens
        )
        if not response.choices:
            raise OSError(f"{args.server} sent no answer to: {prompt}")
        return response.choices[0].message.content or "", response.usage.total_tokens if response.usage else 0

    def complete(prompts: list[str]) -> Iterator[str]:
        n_tokens = 0
        try:
            with ThreadPoolExecutor(args.concurrency) as pool:
                for answer, n in tqdm(pool.map(ask, prompts), total=len(prompts), desc="answers", disable=None):
                    n_tokens += n
                    yield answer
        except openai.OpenAIError as error:
            raise OSError(f"{args.server}: {error}") from error
        print(f"{n_tokens:,} tokens of prompts and answers")

    return complete


if __name__ == "__main__":
    run(main, Args)
