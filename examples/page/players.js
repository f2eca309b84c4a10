// Who plays against you: learners at a stage, the theorem, the proven network, simple players, and your own.

import { loadNetwork, networkMove } from "./network.js";
import { legalMoves, limit, winningMoves } from "./rules.js";

/** The opponents at the top of the page. A trained one plays the learner after that many games. */
export const LEVELS = [
  { id: "beginner", name: "Beginner", isTrained: true },
  { id: "student", name: "Student", isTrained: true },
  { id: "master", name: "Master", isTrained: true },
  { id: "network", name: "Network", note: "873 weights" },
  { id: "perfect", name: "Perfect", note: "the theory" },
  { id: "friend", name: "2 people", note: "one screen" },
];

/** More opponents. Your own players are added. The learner is there while it plays. */
export const OTHERS = [
  { id: "random", name: "Random", note: "any move" },
  ...[1, 2, 3].map((n) => ({ id: `take-${n}`, name: `Take ${n}`, note: `always ${n}` })),
];
export const LEARNERS = [
  { id: "stage", name: "Learner", isTrained: true },
  { id: "pupil", name: "Learner", isTrained: true },
];

const drawn = (moves) => moves[Math.floor(Math.random() * moves.length)];

/** The opponent's move. The table is that of a trained opponent, of this learner. */
export async function opponentMove(id, heaps, rules, learner, table) {
  const own = OTHERS.find((player) => player.id === id)?.table;
  if (own) return own.draw(heaps);
  if (id === "network") return networkMove(await loadNetwork(rules.misere), heaps, rules);
  if (id === "random") return drawn(legalMoves(heaps, rules));
  if (id.startsWith("take-")) {
    const count = Number(id.slice(5));
    return drawn(heaps.flatMap((size, heap) => (size ? [{ heap, count: Math.min(count, limit(size, rules)) }] : [])));
  }
  if (id === "perfect") {
    const wins = winningMoves(heaps, rules); // a lost position is played on slowly
    return drawn(wins.length ? wins : legalMoves(heaps, rules).filter((move) => move.count === 1));
  }
  return drawn(learner.bestMoves(heaps, table));
}

// --- Your own players, which play_in_browser.py has tabulated ---------------------------------------

class TablePlayer {
  constructor({ name, heaps, max_take: max, misere, probabilities, values }) {
    this.rules = { heaps, max: max && max < Math.max(...heaps) ? max : null, misere };
    this.moves = legalMoves(heaps, this.rules);
    this.kind = values ? "value" : "probability";
    Object.assign(this, { probabilities, numbers: values ?? probabilities });
    const nPositions = heaps.reduce((n, size) => n * (size + 1), 1), needed = nPositions * this.moves.length;
    for (const list of [this.probabilities, this.numbers]) {
      if (!Array.isArray(list) || list.length !== needed || !list.every(Number.isFinite)) {
        throw new Error("damaged");
      }
    }
  }

  /** The legal moves with their numbers in a list. */
  row(heaps, list) {
    const position = this.rules.heaps.reduce((index, size, i) => index * (size + 1) + heaps[i], 0);
    return this.moves.map((move, action) => [move, list[position * this.moves.length + action]])
      .filter(([{ heap, count }]) => count <= heaps[heap]);
  }

  /** The Q-values, or else the probabilities, of the legal moves. */
  values(heaps) { return this.row(heaps, this.numbers); }

  draw(heaps) {
    const row = this.row(heaps, this.probabilities);
    let left = Math.random() * row.reduce((sum, [, probability]) => sum + probability, 0);
    return (row.find(([, probability]) => (left -= probability) < 0) ?? row.at(-1))[0];
  }
}

/** Adds the players of a JSON file to the others; an error in one sentence if the file is damaged. */
export async function loadPlayers(address) {
  const players = await (await fetch(address)).json().catch(() => {
    throw new Error("damaged");
  });
  players.forEach((player, i) =>
    OTHERS.push({ id: `player-${i}`, name: player.name, note: "yours", table: new TablePlayer(player) }));
}
