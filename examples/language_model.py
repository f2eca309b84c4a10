"""A language model plays Nim in words: an exact evaluation, and reinforcement learning.

The script queries a model on every position of the board. It prints how often the form of an answer fails, the
rules, and the move; the exact figures, where an answer without a legal move loses; and an example of each fault.
The model is on a server of the OpenAI chat interface, in a folder, on the hub of Hugging Face, or the tiny one,
which this script makes and trains.

    python examples/language_model.py
    python examples/language_model.py --model FOLDER --heaps 1 3 5
    python examples/language_model.py --model NAME --server http://localhost:8000/v1 --heaps 1 3 5 7

A server's key is read from the environment variable OPENAI_API_KEY. Its answers are kept in --folder, so the same
command asks only for those that are missing.

The tiny model learns the form of an answer from random legal moves, and then to win by GRPO (Shao et al. 2024,
arXiv:2402.03300, section 4.1) with the exact reward of each move (nim_env.text.move_reward).

Install: pip install -e ".[examples,llm]"
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import TypeAlias

from tqdm import tqdm

from nim_env import NimRules, evaluation, text

from check_player import show_report
from common import percent, run

JudgedAnswer: TypeAlias = tuple[tuple[int, ...], str, text.Verdict]

CONCURRENCY = 8  # requests to a server at the same time
CUT_OFF = "[cut off]"  # the end of such an answer, so that half a number is no move


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
    """The number of answers for each position."""
    temperature: float | None = 0.0
    """The temperature of the answers; None for the server's own."""
    max_tokens: int = 1024
    """The maximum number of tokens of an answer."""
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
        path = args.folder / f"{args.model.replace('/', '_')}-{args.max_tokens}-{args.temperature}.jsonl"
    else:
        import local_models  # here, since a server needs neither PyTorch nor the seconds of its import

        model, max_tokens = args.model, args.max_tokens
        if model == "tiny":
            model, max_tokens = str(args.folder / "tiny"), local_models.TINY_TOKENS
            local_models.train_tiny(rules, args.style, args.max_steps, args.seed, model)
        complete = local_models.ask(model, max_tokens, args.temperature, args.seed)
    source = {"model": args.model, "server": args.server}
    player = text.LanguageModelPolicy(rules, complete, args.samples, args.style, path, source)
    print(f"{rules}, style {args.style}: answers in {rules.n_positions - 1} positions", flush=True)
    report = evaluation.report(rules, player, illegal_action="lose")
    show_answers(player.judged_answers())
    show_report(report, f"{args.model}, {rules}", args.folder / f"{args.style}.svg")
    n_won = args.samples * sum(group.won for group in report.groups)
    print(f"expert   {share(round(report.expert * n_won), n_won)} answers in won positions")
    print("The exploitability is that of these answers. Where they are drawn, it is above the model's by chance.")
    return report


def show_answers(answers: list[JudgedAnswer]) -> None:
    """Prints the shares of answers that lack the form, break the rules, and win, and an example of each fault."""
    counts = Counter(verdict for _, _, verdict in answers)
    n_cut = sum(answer.endswith(CUT_OFF) for _, answer, _ in answers)
    print(f"no_move  {share(counts['no_move'], len(answers))} answers; {n_cut} cut off")
    print(f"illegal  {share(counts['illegal'], len(answers))} answers")
    n_legal = counts["winning"] + counts["mistake"]
    print(f"winning  {share(counts['winning'], n_legal)} legal moves in won positions")
    examples = {verdict: f"{heaps}: {answer[-200:]!r}" for heaps, answer, verdict in answers}
    for fault in ("no_move", "illegal", "mistake"):
        if fault in examples:
            print(f"{fault} at {examples[fault]}")


def share(n: int, total: int) -> str:
    """A share in percent, with the 95 % Wilson interval of a random sample."""
    if total == 0:
        return "none of 0"
    low, high = evaluation.MatchResult(n, total).interval()
    return f"{percent(n / total)} % ({percent(low)} to {percent(high)} %), {n} of {total}"


def ask_server(args: Args) -> Callable[[list[str]], Iterator[tuple[str, str]]]:
    """A function from prompts to pairs of a prompt and its answer, as they come; an OSError if one gets none."""
    import openai  # here, since models that run here do not need it

    key = os.environ.get("OPENAI_API_KEY") or "none"  # a local server needs none
    client = openai.OpenAI(base_url=args.server, api_key=key, max_retries=5)

    def ask(prompt: str) -> tuple[str, str]:
        try:
            reply = client.chat.completions.create(
                model=args.model,
                messages=[{"role": "user", "content": prompt}],
                max_completion_tokens=args.max_tokens,
                temperature=args.temperature,
            )
        except openai.OpenAIError as error:
            raise OSError(f"{args.server}: {error}") from error
        if not getattr(reply, "choices", None):  # a page of another server is a text
            raise OSError(f"{args.server}: no answer but {reply!s:.200}")
        answer = reply.choices[0].message.content or ""
        return prompt, answer + (CUT_OFF if reply.choices[0].finish_reason == "length" else "")

    def complete(prompts: list[str]) -> Iterator[tuple[str, str]]:
        with ThreadPool(CONCURRENCY) as pool:
            answers = pool.imap_unordered(ask, prompts)
            yield from tqdm(answers, "answers", len(prompts), leave=False, disable=None)

    return complete


if __name__ == "__main__":
    run(main, Args)
