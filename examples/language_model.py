"""A language model plays Nim in words: an exact evaluation, and reinforcement learning.

The script queries a model on every position of the board, and the evaluation of its answers is exact. An answer
without a legal move loses the game. The model is on a server of the OpenAI chat interface, in a folder or on the
hub of Hugging Face, or the tiny one, which this script makes and trains in a minute or two.

    python examples/language_model.py
    python examples/language_model.py --model FOLDER --heaps 1 3 5
    python examples/language_model.py --model NAME --server http://localhost:8000/v1 --heaps 1 3 5 7

A server's key is read from the environment variable OPENAI_API_KEY. Its answers are kept in --folder, so the same
command continues after an interruption. Delete their file after a change of the server or its model.

The tiny model learns the form of an answer from random legal moves, and then to win by GRPO (Shao et al. 2024,
arXiv:2402.03300, section 4.1) with the exact reward of each move (nim_env.text.move_reward).

Install: pip install -e ".[examples,llm]"
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
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
    """Starting heap sizes; the model is queried on every position of the board."""
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
    """Where the answers of a server, the tiny model and the figure are saved."""


def main(args: Args) -> evaluation.Report:
    """Queries the model on every position, prints and draws the figures, and returns them."""
    rules = NimRules(args.heaps, args.max_take, args.misere)
    args.folder.mkdir(parents=True, exist_ok=True)
    path = None
    if args.server is not None:
        complete = ask_server(args)
        path = args.folder / f"{args.model.replace('/', '_')}-{args.max_tokens}.jsonl"
    else:
        import local_models  # here, since a server needs neither PyTorch nor the seconds of its import

        folder, max_tokens = args.model, args.max_tokens
        if args.model == "tiny":
            folder, max_tokens = str(args.folder / "tiny"), local_models.TINY_TOKENS
            local_models.train_tiny(rules, args.style, args.max_steps, args.seed, folder)
        complete = local_models.ask(folder, max_tokens, args.samples > 1, args.seed)
    player = text.LanguageModelPolicy(rules, complete, args.samples, args.style, path)
    kept = "" if path is None else f", {sum(map(len, player.answers.values()))} answers in {path}"
    print(f"{rules}: {(rules.n_positions - 1) * args.samples} prompts{kept}", flush=True)
    report = evaluation.report(rules, player, illegal_action="lose")
    show_report(report, f"{args.model}, {rules}", args.folder / "language_model.svg")
    return report


def ask_server(args: Args) -> Callable[[list[str]], Iterator[tuple[str, str]]]:
    """A function from prompts to pairs of a prompt and its answer, by a server; it prints the number of tokens."""
    key = os.environ.get("OPENAI_API_KEY") or "none"  # a local server needs none
    client = openai.OpenAI(base_url=args.server, api_key=key, max_retries=4)

    def ask(prompt: str) -> tuple[str, int, bool]:
        """The answer, the number of tokens, and whether the answer was cut off."""
        message = {"role": "user", "content": prompt}
        options = {"model": args.model, "messages": [message], "max_completion_tokens": args.max_tokens}
        try:
            reply = client.chat.completions.create(**options)
        except openai.OpenAIError as error:
            raise OSError(f"{args.server}: {error}") from error
        if not getattr(reply, "choices", None):  # a page of another server is a text
            raise OSError(f"{args.server} sent no answer to: {prompt}")
        choice = reply.choices[0]
        tokens = reply.usage.total_tokens if reply.usage else 0
        return choice.message.content or "", tokens, choice.finish_reason == "length"

    def complete(prompts: list[str]) -> Iterator[tuple[str, str]]:
        n_tokens = n_cut = 0
        pool = ThreadPoolExecutor(args.concurrency)
        futures = {pool.submit(ask, prompt): prompt for prompt in prompts}
        try:
            for future in tqdm(as_completed(futures), total=len(prompts), desc="answers", disable=None):
                prompt, (answer, tokens, is_cut) = futures.pop(future), future.result()
                n_tokens += tokens
                n_cut += is_cut
                yield prompt, answer
        except (OSError, KeyboardInterrupt):
            pool.shutdown(cancel_futures=True)  # waits for the requests under way, whose answers are kept
            for future, prompt in futures.items():
                if not future.cancelled() and future.exception() is None:
                    yield prompt, future.result()[0]
            raise
        finally:
            pool.shutdown(cancel_futures=True)
        print(f"{n_tokens:,} tokens of prompts and answers; {n_cut} answers were cut off at --max-tokens")

    return complete


if __name__ == "__main__":
    run(main, Args)
