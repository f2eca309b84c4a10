// agents.MinimaxQAgent in self-play, agents.QLearningAgent against an opponent: the same draws give the same tables.

import { isSame, isWinning, legalMoves, movesOf } from "./rules.js";

const STAGES = [
  0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 130, 170, 200, 250, 300, 400, 500, 600, 700, 850, 1000, 1200, 1500,
  1750, 2000, 2500, 3000, 3500, 4000, 4500, 5000, 6000, 7000, 8500, 10000, 12500, 15000, 20000,
];
const LONGER = [30000, 50000, 70000, 100000, 150000, 200000, 300000, 500000];
const MANY = 20_000;
const MAX_VALUES = 100_000;
const NEVER = 2 ** 32 - 1;
const VISIBLE = 0.01;
const SEARCHED = 1000; // games

/** The actions among which each opponent draws, as in nim_env.policies. */
export const RIVALS = {
  itself: null,
  random: ({ legal }, position) => legal[position],
  "take-3": (positions, _, heaps) => movesOf(3, heaps, positions.board).map((move) => positions.actionOf(move)),
  expert: ({ legal, wins }, position) => wins.get(position) ?? legal[position],
};
export const RATES = [0.1, 0.2, 0.5, 1];
export const EXPLORATIONS = [0.1, 0.2, 0.5];
const SETTINGS = Object.keys(RIVALS).flatMap((rival) =>
  RATES.flatMap((rate) => EXPLORATIONS.map((exploration) => ({ rival, rate, exploration }))),
);

/** One object for each choice; the defaults are as in examples/compare_opponents.py. */
export const settingsOf = (rival, rate = rival === "itself" ? 0.5 : 0.2, exploration = rate) =>
  SETTINGS.find((each) => each.rival === rival && each.rate === rate && each.exploration === exploration);

/** How the levels train: with an exploration of 0.1, 1% of the positions of 1-3-5-7 would stay unlearned. */
export const SELF_PLAY = settingsOf("itself");

/** In a link: 20, or 20~take-3~0.2~0.2 if it trained otherwise than the levels. */
export const stageName = (games, settings) =>
  settings === SELF_PLAY ? String(games) : [games, ...Object.values(settings)].join("~");

export function readStage(text) {
  const [games, rival, rate, exploration] = text.split("~");
  const settings = rival === undefined ? SELF_PLAY : settingsOf(rival, Number(rate), Number(exploration));
  return /^\d+$/.test(games) && settings ? { games: Number(games), settings } : null;
}

/** Numbers from 0 to 1 (mulberry32). */
class Random {
  constructor(state) {
    this.state = state;
  }

  next() {
    let t = (this.state += 0x6d2b79f5);
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
}

export const drawn = (list, number = Math.random()) => list[Math.floor(number * list.length)];

/** As in nim_env, the last heap's size counts single positions, and a move subtracts a constant from the index. */
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

  get legal() {
    return (this.legalActions ??= this.findLegal());
  }

  findLegal() {
    const isLegal = ({ heap, count }, heaps) => count <= heaps[heap];
    const actionsIn = (heaps) => this.moves.flatMap((move, action) => (isLegal(move, heaps) ? [action] : []));
    return Array.from({ length: this.number }, (_, position) => actionsIn(this.heapsOf(position)));
  }

  get wins() {
    return (this.winningActions ??= this.findWins());
  }

  findWins() {
    const isWon = this.legal.map((_, position) => isWinning(this.heapsOf(position), this.board));
    const wins = this.legal.map((legal, position) => legal.filter((action) => !isWon[position - this.steps[action]]));
    return new Map(wins.flatMap((actions, position) => (actions.length ? [[position, actions]] : [])));
  }

  repliesOf(rival) {
    const choices = RIVALS[rival];
    return choices && this.legal.map((_, position) => choices(this, position, this.heapsOf(position)));
  }
}

export class Table {
  constructor(positions, values, games = 0, isTried = () => true) {
    Object.assign(this, { positions, numbers: values, games, isTried });
  }

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

  draw(heaps) {
    return this.positions.moves[drawn(this.best(this.positions.indexOf(heaps)))];
  }

  values(heaps) {
    const { legal, moves } = this.positions;
    const position = this.positions.indexOf(heaps);
    const valueOf = (pair) => (this.isTried(pair) ? this.numbers[pair] : null);
    return legal[position].map((action) => [moves[action], valueOf(position * moves.length + action)]);
  }

  /** The probability that it plays a winning move. */
  rightIn(position) {
    const best = this.best(position);
    return best.filter((action) => this.positions.wins.get(position).includes(action)).length / best.length;
  }

  /** With random ties; evaluation.mastery takes an agent's first best move instead. */
  get mastery() {
    return (this.share ??= this.evaluate());
  }

  evaluate() {
    const won = [...this.positions.wins.keys()];
    const sum = won.reduce((total, position) => total + this.rightIn(position), 0);
    return won.length ? sum / won.length : 1;
  }

  valueOf(position) {
    const { legal, moves, board } = this.positions;
    let best = position ? -Infinity : board.misere ? 1 : -1;
    for (const action of legal[position]) best = Math.max(best, this.numbers[position * moves.length + action]);
    return best;
  }

  /** Q(s, a) ← (1 − α) Q(s, a) + α target. */
  learn(pair, target, rate) {
    this.numbers[pair] = (1 - rate) * this.numbers[pair] + rate * target;
  }

  /** The share of games that it wins if each player starts half of them, with random ties. */
  winsAgainst(rival) {
    const { steps, number, board } = this.positions;
    const replies = this.positions.repliesOf(rival);
    const wins = [new Float64Array(number), new Float64Array(number)];
    wins[board.misere ? 0 : 1][0] = 1;
    for (let position = 1; position < number; position++) {
      [this.best(position), replies[position]].forEach((actions, player) => {
        const sum = actions.reduce((total, action) => total + wins[1 - player][position - steps[action]], 0);
        wins[player][position] = sum / actions.length;
      });
    }
    return (wins[0][number - 1] + wins[1][number - 1]) / 2;
  }
}

export class Taught extends Table {
  lessons = 0;
  tried = new Set();

  constructor({ positions, numbers, games, isTried }) {
    super(positions, numbers.slice(), games, (pair) => this.tried.has(pair) || isTried(pair));
  }

  teach({ moves, start }) {
    let position = this.positions.indexOf(start);
    const { lessons, share } = this;
    this.before = { numbers: this.numbers.slice(), tried: new Set(this.tried), lessons, share };
    this.lessons += 1;
    this.share = undefined;
    return moves.map((move) => {
      const action = this.positions.actionOf(move);
      const pair = position * this.positions.moves.length + action;
      const from = this.numbers[pair];
      position -= this.positions.steps[action];
      this.learn(pair, -this.valueOf(position), SELF_PLAY.rate);
      this.tried.add(pair);
      return { move, from, to: this.numbers[pair] };
    });
  }

  forget() {
    Object.assign(this, this.before);
  }
}

export class Learner {
  games = 0;
  tables = [];
  seen = 0; // the last stage that the curve has shown

  constructor(board, settings = SELF_PLAY, random = new Random(7), family = []) {
    family.push(this);
    Object.assign(this, { settings, random, family });
    this.positions = new Positions(board);
    const { nValues } = this.positions;
    this.isSmall = nValues <= MAX_VALUES;
    this.plan = !this.isSmall ? [] : nValues > MANY ? [...STAGES, ...LONGER] : [...STAGES];
    this.table = new Table(this.positions, new Float64Array(this.isSmall ? nValues : 0));
    this.triedIn = new Uint32Array(this.table.numbers.length).fill(NEVER); // the game in which a move was first tried
  }

  get isTrained() {
    return this.tables.length === this.plan.length;
  }

  stageOf(games) {
    return this.plan.findLastIndex((stage) => stage <= games);
  }

  tableAt(games) {
    return this.tables[this.stageOf(games)];
  }

  train(milliseconds) {
    const end = performance.now() + milliseconds;
    while (!this.isTrained && performance.now() < end) {
      if (this.games === this.plan[this.tables.length]) this.tables.push(this.copy());
      this.playGame();
    }
    return !this.isTrained;
  }

  copy() {
    const { games, table, triedIn, random } = this;
    const copied = new Table(table.positions, table.numbers.slice(), games, (pair) => triedIn[pair] < games);
    return Object.assign(copied, { random: random.state });
  }

  /** The next update that changes a value visibly, after the last one or a stage. */
  step(games) {
    if (this.stepped !== games) this.updates = this.updatesAfter(this.tableAt(games));
    const { value: update } = this.updates.next();
    this.stepped = update?.table.games ?? games;
    return update;
  }

  /** Plays on after a stage with the same draws. */
  *updatesAfter({ positions, numbers, games, random }) {
    const again = new Learner(positions.board, this.settings, new Random(random));
    const { moves } = positions;
    Object.assign(again, { games, triedIn: this.triedIn, table: new Table(positions, numbers.slice()) });
    for (let last = games; again.games < last + SEARCHED; ) {
      const updates = [];
      again.playGame(updates);
      const changes = updates.filter(({ from, to }) => Math.abs(to - from) >= VISIBLE);
      if (!changes.length) continue;
      const table = again.copy();
      last = table.games;
      for (const change of changes) {
        yield { ...change, table, heaps: positions.heapsOf(change.position), move: moves[change.action] };
      }
    }
  }

  with(settings) {
    const made = this.family.find((each) => each.settings === settings);
    return made ?? new Learner(this.positions.board, settings, undefined, this.family);
  }

  /** An opponent starts every other game, and its reply belongs to the learner's move. */
  playGame(updates) {
    const { positions, settings, table } = this;
    const { steps, moves } = positions;
    const replies = (this.replies ??= positions.repliesOf(settings.rival));
    let position = positions.number - 1;
    const openings = replies?.[position].filter((action) => steps[action] < position); // never the last block
    if (this.games % 2 && openings?.length) position -= steps[this.draw(openings)];
    while (position) {
      const action = this.explore(position);
      const pair = position * moves.length + action;
      if (this.triedIn[pair] === NEVER) this.triedIn[pair] = this.games;
      const left = position - steps[action];
      const reply = replies && left ? this.draw(replies[left]) : null;
      const next = reply === null ? left : left - steps[reply];
      const target = reply === null ? -table.valueOf(left) : table.valueOf(next);
      const from = table.numbers[pair];
      table.learn(pair, target, settings.rate);
      const answer = updates && moves[reply ?? (left ? table.best(left)[0] : -1)];
      updates?.push({ position, action, answer, next, pair, target, from, to: table.numbers[pair] });
      position = next;
    }
    this.games += 1;
  }

  draw(actions) {
    return drawn(actions, this.random.next());
  }

  /** ε-greedy: one draw decides whether to explore, and what. */
  explore(position) {
    const { exploration } = this.settings;
    const legal = this.positions.legal[position];
    const uniform = this.random.next();
    if (uniform < exploration) return drawn(legal, uniform / exploration);
    const best = this.table.best(position);
    return best.length === 1 ? best[0] : this.draw(best);
  }

  /** The games of each level, chosen by win rates on 1-3-5-7. Elsewhere a level is the first stage with 2, 25 or 97%
   * of the way from the mastery at the start to 100%. */
  levels() {
    const { heaps, max, misere } = this.positions.board;
    if (String(heaps) === "1,3,5,7" && max === 7 && misere) return { beginner: 20, student: 300, master: 10000 };
    const planned = this.tables.filter(({ games }) => STAGES.includes(games) || LONGER.includes(games));
    const last = this.isTrained ? planned.at(-1)?.games : undefined;
    const base = planned[0]?.mastery;
    const first = (share) => planned.find(({ mastery }) => mastery >= base + share * (1 - base))?.games ?? last;
    return { beginner: first(0.02), student: first(0.25), master: first(0.97) };
  }
}
