// One game, its link, and your own board: what the page knows without drawing anything.

import { after, isOver, legalMoves, isSame, nameOf, rate, winningMoves } from "./rules.js";

export const PRESETS = [
  { name: "1-3-5-7", note: "the classic", heaps: [1, 3, 5, 7], max: null, misere: true },
  { name: "3-4-5", note: "small and sharp", heaps: [3, 4, 5], max: null, misere: true },
  { name: "21, take 1 to 3", note: "one heap, last block wins", heaps: [21], max: 3, misere: false },
  { name: "5 heaps", note: "1-3-5-7-9", heaps: [1, 3, 5, 7, 9], max: null, misere: true },
  { name: "Big", note: "12 heaps of up to 31", heaps: [3, 31, 12, 25, 7, 18, 29, 5, 22, 14, 27, 10], max: null, misere: true },
];
const MAX_HEAPS = 15, MAX_BLOCKS = 50; // what a screen can show

export const thousands = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ","); // toLocaleString costs a frame at first
export const isSameBoard = (one, other) =>
  String(one.heaps) === String(other.heaps) && one.max === other.max && one.misere === other.misere;

/** The moves of a game with their ratings. Player 0 is you, or Player 1 of two people. */
export class Game {
  constructor(rules, first) { Object.assign(this, { rules, first, moves: [] }); }

  heapsAt(ply) { return this.moves.slice(0, ply).reduce(after, this.rules.heaps); }
  playerAt(ply) { return (this.first + ply) % 2; }
  get heaps() { return this.heapsAt(this.moves.length); }
  get player() { return this.playerAt(this.moves.length); }
  get winner() { return isOver(this.heaps) ? (this.rules.misere ? this.player : 1 - this.player) : null; }

  play(move) {
    if (!legalMoves(this.heaps, this.rules).some((legal) => isSame(legal, move))) throw new Error("illegal move");
    this.moves.push({ heap: move.heap, count: move.count, rating: rate(this.heaps, move, this.rules) });
  }

  /** The move by which the loser gave the win away for the last time; −1 if there is none. */
  get decisive() {
    const { winner } = this;
    if (winner === null) return -1;
    return this.moves.findLastIndex((move, ply) => this.playerAt(ply) !== winner && move.rating === "mistake");
  }

  /** A winning move where the decisive mistake was made. */
  get better() { return winningMoves(this.heapsAt(this.decisive), this.rules)[0]; }
}

// --- Links: #heaps=1-3-5-7&last=loses&vs=beginner&first=you&moves=D2.B1 -------------------------------

export function toLink({ rules, first, moves }, opponent) {
  const parts = {
    heaps: rules.heaps.join("-"), last: rules.misere ? "loses" : "wins", take: rules.max, vs: opponent,
    first: first ? "opponent" : "you", moves: moves.map(({ heap, count }) => nameOf(heap) + count).join("."),
  };
  const given = Object.entries(parts).filter(([, value]) => value);
  return `#${given.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&")}`;
}

/** The game and opponent of a link. Throws an error in one sentence if it is broken. */
export function fromLink(hash) {
  const parts = Object.fromEntries(new URLSearchParams(hash.slice(1)));
  const { errors, rules } = readBoard((parts.heaps ?? "1-3-5-7").replaceAll("-", " "), parts.take ?? "", parts.last !== "wins");
  const error = errors.heaps || errors.max;
  if (error) throw new Error(`This link is broken. ${error}`);
  if (![undefined, "loses", "wins"].includes(parts.last)) throw new Error("This link is broken. The last block loses or wins.");
  if (![undefined, "you", "opponent"].includes(parts.first)) throw new Error("This link is broken. You or the opponent starts.");
  const game = new Game(rules, parts.first === "opponent" ? 1 : 0);
  for (const text of (parts.moves ?? "").split(".").filter(Boolean)) {
    const [, letter, count] = /^([A-O])(\d+)$/.exec(text) ?? [];
    try {
      game.play({ heap: (letter ?? "?").charCodeAt(0) - 65, count: Number(count) });
    } catch {
      throw new Error(`This link is broken. “${text.slice(0, 20)}” is no legal move there.`);
    }
  }
  return { game, opponent: parts.vs ?? "beginner" };
}

/** The board that someone has written, or what is wrong with it in words. */
export function readBoard(heapsText, maxText, misere) {
  const errors = { heaps: "", max: "" }, words = heapsText.trim().split(/[\s,;+-]+/).filter(Boolean), max = maxText.trim();
  const wrong = words.find((word) => !/^\d+$/.test(word)), heaps = words.map(Number), most = Math.max(...heaps);
  if (!words.length) errors.heaps = "Write the size of each heap, such as 1 3 5 7.";
  else if (wrong !== undefined) errors.heaps = `“${wrong.slice(0, 20)}” is not a number. Write sizes such as 1 3 5 7.`;
  else if (heaps.includes(0)) errors.heaps = "A heap needs at least 1 block. Leave the 0 out.";
  else if (heaps.length > MAX_HEAPS) errors.heaps = `At most ${MAX_HEAPS} heaps fit. You wrote ${heaps.length}.`;
  else if (most > MAX_BLOCKS) errors.heaps = `A heap can have at most ${MAX_BLOCKS} blocks. You wrote ${thousands(most)}.`;
  if (max && !/^\d+$/.test(max)) errors.max = "Write a whole number, or leave it empty for any number.";
  else if (max && Number(max) < 1) errors.max = "A move takes at least 1 block. Write 1 or more, or leave it empty.";
  const isLimit = max && !errors.max && Number(max) < most;
  return { errors, rules: { heaps, max: isLimit ? Number(max) : null, misere } };
}
