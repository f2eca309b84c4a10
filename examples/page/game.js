// Player 0 is you, or Player 1 of two people.

import { after, isOver, isSame, legalMoves, rate, winningMoves } from "./rules.js";

export class Game {
  moves = [];
  score = null; // the one that counts this game
  told = null; // what the learner learned from it
  policy = null; // of the opponent
  isCorrected = false;

  constructor(board, first, start = board.heaps) {
    Object.assign(this, { board, first, start });
  }

  heapsAt(ply) {
    return this.moves.slice(0, ply).reduce(after, this.start);
  }

  playerAt(ply) {
    return (this.first + ply) % 2;
  }

  get heaps() {
    return this.heapsAt(this.moves.length);
  }

  get player() {
    return this.playerAt(this.moves.length);
  }

  get winner() {
    if (!isOver(this.heaps)) return null;
    return this.board.misere ? this.player : 1 - this.player;
  }

  play({ heap, count }) {
    const isLegal = legalMoves(this.heaps, this.board).some((move) => isSame(move, { heap, count }));
    if (!isLegal) throw new Error("illegal move");
    this.moves.push({ heap, count, rating: rate(this.heaps, { heap, count }, this.board) });
  }

  /** The move that finally gave the win away, or −1. */
  get decisive() {
    const { winner } = this;
    if (winner === null) return -1;
    return this.moves.findLastIndex((move, ply) => this.playerAt(ply) !== winner && move.rating === "mistake");
  }

  get better() {
    return winningMoves(this.heapsAt(this.decisive), this.board);
  }
}
