// Minimax-Q in self-play, as agents.MinimaxQAgent: with the same draws it learns the same table. What it has learned is
// evaluated exactly.

import { isSame, isWinning, limit } from "./rules.js";

/** Numbers from 0 to 1 (mulberry32). */
export function generator(seed) {
  return () => {
    let t = (seed += 0x6d2b79f5);
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** The numbers of games after which the table is kept. */
const STAGES = [0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 130, 170, 200, 250, 300, 400, 500, 600, 700,
  850, 1000, 1200, 1500, 1750, 2000, 2500, 3000, 3500, 4000, 4500, 5000, 6000, 7000, 8500, 10000, 12500, 15000, 20000];
const LONGER = [30000, 50000, 70000, 100000, 150000, 200000, 300000, 500000]; // of a board with many positions
const MANY = 20_000, MAX_VALUES = 100_000; // numbers in a table that is trained in the page
const SLICE = 8; // milliseconds of training between two frames
const LEARNING_RATE = 0.5, EPSILON = 0.5; // with 0.1, positions off its usual games stay unlearned: 99 % on 1-3-5-7
const NEVER = 2 ** 32 - 1; // in triedIn

export class Learner {
  /** @param random The generator of its choices. */
  constructor(rules, random = generator(7)) {
    this.rules = rules;
    this.random = random;
    const { heaps } = rules;
    // As in nim_env, the last heap's size counts single positions, and a move subtracts a constant from the index.
    this.strides = heaps.map((_, i) => heaps.slice(i + 1).reduce((n, size) => n * (size + 1), 1));
    this.nPositions = this.strides[0] * (heaps[0] + 1);
    this.moves = heaps.flatMap((size, heap) =>
      Array.from({ length: limit(size, rules) }, (_, i) => ({ heap, count: i + 1 })));
    this.steps = this.moves.map(({ heap, count }) => count * this.strides[heap]);
    this.nActions = this.moves.length;
    this.isSmall = this.nPositions * this.nActions <= MAX_VALUES;
    this.plan = this.nPositions * this.nActions > MANY ? [...STAGES, ...LONGER] : STAGES;
    this.taught = null; // {table, tried, games}: what it learned in games against you
    this.stages = [];
    this.tables = []; // one for each stage
    this.mastery = [];
  }

  /** Makes the empty table, and lists the legal and the winning actions of each position. */
  prepare() {
    this.table = new Float64Array(this.nPositions * this.nActions);
    this.triedIn = new Uint32Array(this.table.length).fill(NEVER); // the first game in which a move was tried
    this.legal = Array.from({ length: this.nPositions }, (_, position) => {
      const sizes = this.heapsOf(position);
      return this.moves.flatMap(({ heap, count }, action) => (count <= sizes[heap] ? [action] : []));
    });
    const isWon = this.legal.map((_, position) => isWinning(this.heapsOf(position), this.rules));
    this.wins = this.legal.map((legal, position) => // of the positions that are won; of the others none
      new Set(position && isWon[position] ? legal.filter((action) => !isWon[position - this.steps[action]]) : []));
  }

  heapsOf(position) { return this.strides.map((stride, i) => Math.floor(position / stride) % (this.rules.heaps[i] + 1)); }
  positionOf(heaps) { return heaps.reduce((sum, size, i) => sum + size * this.strides[i], 0); }

  get isTrained() { return this.stages.length === this.plan.length; }

  /** The stage of a number of games. */
  stageOf(games) { return this.stages.findLastIndex((stage) => stage <= games); }

  /** The best actions of a position by a table. */
  best(position, table) {
    let top = -Infinity, best = [];
    for (const action of this.legal[position]) {
      const value = table[position * this.nActions + action];
      if (value > top) [top, best] = [value, [action]];
      else if (value === top) best.push(action);
    }
    return best;
  }

  /** The table that is shown: the taught one, or that of a number of games. */
  tableAt(games) { return this.taught?.table ?? this.tables[this.stageOf(games)]; }

  /** The best moves of a position by a table. */
  bestMoves(heaps, table) { return this.best(this.positionOf(heaps), table).map((action) => this.moves[action]); }

  /** The values of the legal moves, [move, value]; the value is null if the move was never tried. */
  values(heaps, games) {
    const position = this.positionOf(heaps), table = this.tableAt(games);
    return this.legal[position].map((action) => {
      const pair = position * this.nActions + action;
      const isTried = this.taught?.tried.has(pair) || this.triedIn[pair] < this.stages[this.stageOf(games)];
      return [this.moves[action], isTried ? table[pair] : null];
    });
  }

  /** Goes on from the table after this many games: from now on it learns one game at a time. */
  startTaught(games) {
    this.taught = { table: this.tableAt(games).slice(), tried: new Set(), games: 0 };
  }

  /** One update of the taught table for each move of a game. Returns each move's value before and after. */
  teach(moves) {
    const { table, tried } = this.taught;
    let position = this.positionOf(this.rules.heaps);
    this.taught.games += 1;
    return moves.map((move) => {
      const action = this.moves.findIndex((each) => isSame(each, move));
      const pair = position * this.nActions + action, from = table[pair];
      position = this.update(position, action, table);
      tried.add(pair);
      return { move, from, to: table[pair] };
    });
  }

  /** The moves of a game against itself by a table, with the usual exploration if asked for. */
  selfPlay(games, isExploring = false) {
    const moves = [], table = this.tableAt(games);
    for (let position = this.positionOf(this.rules.heaps); position;) {
      const best = isExploring ? [this.explore(position, table)] : this.best(position, table);
      const action = best[Math.floor(Math.random() * best.length)];
      moves.push(this.moves[action]);
      position -= this.steps[action];
    }
    return moves;
  }

  /** ε-greedy; one draw decides whether to explore, and what. */
  explore(position, table = this.table) {
    const legal = this.legal[position], uniform = this.random();
    if (uniform < EPSILON) return legal[Math.floor((uniform / EPSILON) * legal.length)];
    const best = this.best(position, table);
    return best.length === 1 ? best[0] : best[Math.floor(this.random() * best.length)];
  }

  /** Q(s, a) ← (1 − α) Q(s, a) − α max Q(s′, ·), where s′ is the other player's position. Returns s′. */
  update(position, action, table) {
    const pair = position * this.nActions + action, next = position - this.steps[action];
    let best = next ? -Infinity : this.rules.misere ? 1 : -1; // for the other player
    for (const reply of this.legal[next]) best = Math.max(best, table[next * this.nActions + reply]);
    table[pair] = (1 - LEARNING_RATE) * table[pair] - LEARNING_RATE * best;
    return next;
  }

  /** Plays and learns the game of this number. */
  playGame(number) {
    for (let position = this.positionOf(this.rules.heaps); position;) {
      const action = this.explore(position), pair = position * this.nActions + action;
      if (this.triedIn[pair] === NEVER) this.triedIn[pair] = number;
      position = this.update(position, action, this.table);
    }
  }

  /** Plays all games in slices, so that the page stays responsive, and keeps the table of each stage.
   * It ends early when isWanted() is false. */
  async train(isWanted = () => true) {
    const pause = () => new Promise((done) => setTimeout(done));
    await pause();
    this.prepare();
    let end = performance.now();
    for (let games = 0; games <= this.plan.at(-1); games++) {
      if (this.plan.includes(games)) this.keep(games, this.table.slice());
      if (performance.now() > end) {
        await pause();
        if (!isWanted()) return;
        end = performance.now() + SLICE;
      }
      this.playGame(games);
    }
  }

  keep(games, table) {
    this.stages.push(games);
    this.tables.push(table);
    this.mastery.push(this.expertMastery(table));
  }

  /** The share of all positions that can be won in which the greedy move wins, ties at random. evaluation.mastery takes an
   * agent's first best move instead. */
  expertMastery(table) {
    let sum = 0, n = 0;
    this.wins.forEach((wins, position) => {
      if (!wins.size) return;
      const best = this.best(position, table);
      n += 1;
      sum += best.filter((action) => wins.has(action)).length / best.length;
    });
    return n ? sum / n : 1; // as evaluation.mastery
  }

  /** How many games each level has trained: beatable, sometimes beatable, hardly beatable on every board.
   * On 1-3-5-7 the numbers were set by win rates. Elsewhere they are the first stages with 2, 25 and 97 % of the way
   * from the mastery at the start to 100 %, or the last stage. A number is undefined until its stage is trained. */
  levels() {
    const { heaps, max, misere } = this.rules;
    if (String(heaps) === "1,3,5,7" && !max && misere) return { beginner: 20, student: 300, master: 10000 };
    const base = this.mastery[0], last = this.isTrained ? this.stages.at(-1) : undefined;
    const first = (share) =>
      this.stages[this.mastery.findIndex((value) => value >= base + share * (1 - base))] ?? last;
    return { beginner: first(0.02), student: first(0.25), master: first(0.97) };
  }
}
