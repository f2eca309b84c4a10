// Minimax-Q in self-play, as agents.MinimaxQAgent: with the same draws it learns the same table. What it has learned is
// evaluated exactly.

import { isSame, isWinning, legalMoves } from "./rules.js";

const STAGES = [
  0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 130, 170, 200, 250, 300, 400, 500, 600, 700, 850, 1000, 1200, 1500,
  1750, 2000, 2500, 3000, 3500, 4000, 4500, 5000, 6000, 7000, 8500, 10000, 12500, 15000, 20000,
];
const LONGER = [30000, 50000, 70000, 100000, 150000, 200000, 300000, 500000]; // of a board with many positions
const MANY = 20_000; // values in a table
const MAX_VALUES = 100_000; // of a table that is trained in the page
const LEARNING_RATE = 0.5;
const EPSILON = 0.5; // with 0.1, positions off its usual games stay unlearned: 99 % on 1-3-5-7
const NEVER = 2 ** 32 - 1; // in triedIn

/** Numbers from 0 to 1 (mulberry32). */
function generator(seed) {
  return () => {
    let t = (seed += 0x6d2b79f5);
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export const drawn = (list) => list[Math.floor(Math.random() * list.length)];

/** The positions of a board by their indices, and its moves by their actions. As in nim_env, the last heap's size
 * counts single positions, and a move subtracts a constant from the index. */
export class Positions {
  constructor(board) {
    const { heaps } = board;
    this.board = board;
    this.strides = heaps.map((_, heap) => heaps.slice(heap + 1).reduce((n, size) => n * (size + 1), 1));
    this.number = this.strides[0] * (heaps[0] + 1);
    this.moves = legalMoves(heaps, board);
    this.steps = this.moves.map(({ heap, count }) => count * this.strides[heap]);
    this.nValues = this.number * this.moves.length;
  }

  heapsOf(position) {
    return this.strides.map((stride, heap) => Math.floor(position / stride) % (this.board.heaps[heap] + 1));
  }

  indexOf(heaps) {
    return heaps.reduce((sum, size, heap) => sum + size * this.strides[heap], 0);
  }

  actionOf(move) {
    return this.moves.findIndex((each) => isSame(each, move));
  }

  /** The legal actions of each position. */
  get legal() {
    return (this.legalActions ??= this.findLegal());
  }

  findLegal() {
    const isLegal = ({ heap, count }, heaps) => count <= heaps[heap];
    const actionsIn = (heaps) => this.moves.flatMap((move, action) => (isLegal(move, heaps) ? [action] : []));
    return Array.from({ length: this.number }, (_, position) => actionsIn(this.heapsOf(position)));
  }

  /** The winning actions of each position that is won. */
  get wins() {
    return (this.winningActions ??= this.findWins());
  }

  findWins() {
    const isWon = this.legal.map((_, position) => isWinning(this.heapsOf(position), this.board));
    const wins = this.legal.map((legal, position) => legal.filter((action) => !isWon[position - this.steps[action]]));
    return new Map(wins.flatMap((actions, position) => (actions.length ? [[position, actions]] : [])));
  }
}

/** The values of all moves in all positions. */
export class Table {
  /** @param games The number of games after which a learner had it. */
  constructor(positions, values, games = 0, isTried = () => true) {
    Object.assign(this, { positions, numbers: values, games, isTried });
  }

  /** The actions with the highest value. */
  best(position) {
    let top = -Infinity;
    let best = [];
    for (const action of this.positions.legal[position]) {
      const value = this.numbers[position * this.positions.moves.length + action];
      if (value > top) [top, best] = [value, [action]];
      else if (value === top) best.push(action);
    }
    return best;
  }

  /** One of the best moves. */
  draw(heaps) {
    return this.positions.moves[drawn(this.best(this.positions.indexOf(heaps)))];
  }

  /** The values of the legal moves, [move, value]; the value is null if the move was never tried. */
  values(heaps) {
    const { legal, moves } = this.positions;
    const position = this.positions.indexOf(heaps);
    const valueOf = (pair) => (this.isTried(pair) ? this.numbers[pair] : null);
    return legal[position].map((action) => [moves[action], valueOf(position * moves.length + action)]);
  }

  /** The probability with which one of its best moves wins, in a position that is won. */
  rightIn(position) {
    const best = this.best(position);
    return best.filter((action) => this.positions.wins.get(position).includes(action)).length / best.length;
  }

  /** The share of all won positions in which it wins, with random ties; evaluation.mastery takes an agent's first best
   * move instead. */
  get mastery() {
    return (this.share ??= this.evaluate());
  }

  evaluate() {
    const won = [...this.positions.wins.keys()];
    const sum = won.reduce((total, position) => total + this.rightIn(position), 0);
    return won.length ? sum / won.length : 1;
  }

  /** Q(s, a) ← (1 − α) Q(s, a) − α max Q(s′, ·), where s′ is the other player's position. Returns s′. */
  update(position, action) {
    const { moves, steps, legal, board } = this.positions;
    const pair = position * moves.length + action;
    const next = position - steps[action];
    let best = next ? -Infinity : board.misere ? 1 : -1; // for the other player
    for (const reply of legal[next]) best = Math.max(best, this.numbers[next * moves.length + reply]);
    this.numbers[pair] = (1 - LEARNING_RATE) * this.numbers[pair] - LEARNING_RATE * best;
    return next;
  }
}

/** A copy of a table that learns from games against you. */
export class Taught extends Table {
  lessons = 0;
  tried = new Set();

  constructor({ positions, numbers, games, isTried }) {
    super(positions, numbers.slice(), games, (pair) => this.tried.has(pair) || isTried(pair));
  }

  /** One update for each move of a game. Returns each move's value before and after. */
  teach({ moves, start }) {
    let position = this.positions.indexOf(start);
    this.before = {
      numbers: this.numbers.slice(),
      tried: new Set(this.tried),
      lessons: this.lessons,
      share: this.share,
    };
    this.lessons += 1;
    this.share = undefined;
    return moves.map((move) => {
      const action = this.positions.actionOf(move);
      const pair = position * this.positions.moves.length + action;
      const from = this.numbers[pair];
      position = this.update(position, action);
      this.tried.add(pair);
      return { move, from, to: this.numbers[pair] };
    });
  }

  /** Forgets the last game. */
  forget() {
    Object.assign(this, this.before);
  }
}

export class Learner {
  games = 0;
  tables = []; // one for each stage

  /** @param random The generator of its choices. */
  constructor(board, random = generator(7)) {
    this.random = random;
    this.positions = new Positions(board);
    const { nValues } = this.positions;
    this.isSmall = nValues <= MAX_VALUES;
    this.plan = !this.isSmall ? [] : nValues > MANY ? [...STAGES, ...LONGER] : STAGES;
    this.table = new Table(this.positions, new Float64Array(this.isSmall ? nValues : 0));
    this.triedIn = new Uint32Array(this.table.numbers.length).fill(NEVER); // the first game in which a move was tried
  }

  get isTrained() {
    return this.tables.length === this.plan.length;
  }

  /** The stage of a number of games, and its table; none before it is trained. */
  stageOf(games) {
    return this.plan.findLastIndex((stage) => stage <= games);
  }

  tableAt(games) {
    return this.tables[this.stageOf(games)];
  }

  /** Trains for some milliseconds. Returns whether there is more to train. */
  train(milliseconds) {
    const end = performance.now() + milliseconds;
    while (!this.isTrained && performance.now() < end) {
      if (this.games === this.plan[this.tables.length]) this.keep(this.games);
      this.playGame();
    }
    return !this.isTrained;
  }

  keep(games) {
    const { positions, numbers } = this.table;
    this.tables.push(new Table(positions, numbers.slice(), games, (pair) => this.triedIn[pair] < games));
  }

  /** Plays and learns a game. */
  playGame() {
    for (let position = this.positions.number - 1; position; ) {
      const action = this.explore(position);
      const pair = position * this.positions.moves.length + action;
      if (this.triedIn[pair] === NEVER) this.triedIn[pair] = this.games;
      position = this.table.update(position, action);
    }
    this.games += 1;
  }

  /** ε-greedy; one draw decides whether to explore, and what. */
  explore(position) {
    const legal = this.positions.legal[position];
    const uniform = this.random();
    if (uniform < EPSILON) return legal[Math.floor((uniform / EPSILON) * legal.length)];
    const best = this.table.best(position);
    return best.length === 1 ? best[0] : best[Math.floor(this.random() * best.length)];
  }

  /** How many games each level has trained: beatable, sometimes beatable, hardly beatable on every board.
   * On 1-3-5-7 the numbers were set by win rates. Elsewhere they are the first stages with 2, 25 and 97 % of the way
   * from the mastery at the start to 100 %, or the last stage. A number is undefined until its stage is trained. */
  levels() {
    const { heaps, max, misere } = this.positions.board;
    if (String(heaps) === "1,3,5,7" && max === 7 && misere) return { beginner: 20, student: 300, master: 10000 };
    const last = this.isTrained ? this.plan.at(-1) : undefined;
    const base = this.tables[0]?.mastery;
    const first = (share) => this.tables.find(({ mastery }) => mastery >= base + share * (1 - base))?.games ?? last;
    return { beginner: first(0.02), student: first(0.25), master: first(0.97) };
  }
}
