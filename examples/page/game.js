// One game, and the boards.

import { after, isOver, legalMoves, isSame, rate, winningMoves } from "./rules.js";

export const PRESETS = [
  { name: "1-3-5-7", note: "the classic", heaps: [1, 3, 5, 7], max: null, misere: true },
  { name: "3-4-5", note: "small and sharp", heaps: [3, 4, 5], max: null, misere: true },
  { name: "21, take 1 to 3", note: "one heap", heaps: [21], max: 3, misere: false },
  { name: "5 heaps", note: "1-3-5-7-9", heaps: [1, 3, 5, 7, 9], max: null, misere: true },
  { name: "Big", note: "12 heaps of up to 31", heaps: [3, 31, 12, 25, 7, 18, 29, 5, 22, 14, 27, 10], max: null, misere: true },
];

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

  /** The winning moves where the decisive mistake was made. */
  get better() { return winningMoves(this.heapsAt(this.decisive), this.rules); }
}
