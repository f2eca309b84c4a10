// Who plays against you. `note(learner)` is the line below a player's name, `why(learner)` a key of SAY if it cannot
// play, and `start(learner)` its policy for one game, from heaps to a move, or to nothing before the training.

import { isSameBoard } from "./boards.js";
import { Positions, SELF_PLAY, Table, Taught, drawn, readStage, stageName } from "./learner.js";
import { loadNetwork, networkMove } from "./network.js";
import { isLimited, legalMoves, movesOf, winningMoves } from "./rules.js";
import { trainedText } from "./words.js";

const player = (id, name, note, policy, why = () => "") => ({
  id,
  name,
  note: () => note,
  why,
  start:
    ({ positions }) =>
    (heaps) =>
      policy(heaps, positions.board),
});

const trained = (id, name, gamesOf, settings = SELF_PLAY) => ({
  id,
  name,
  settings,
  games: gamesOf,
  note: (learner) => (gamesOf(learner) === undefined ? "learning …" : trainedText(gamesOf(learner), settings.rival)),
  why: ({ isSmall }) => (isSmall ? "" : "tooBig"),
  start: (learner) => (heaps) => learner.with(settings).tableAt(gamesOf(learner))?.draw(heaps),
});
const level = (id, name) => trained(id, name, (learner) => learner.levels()[id]);

export function learnerAfter(games, settings) {
  function gamesOf(learner) {
    const { plan } = learner.with(settings);
    return plan.findLast((stage) => stage <= games);
  }
  return trained(stageName(games, settings), "Learner", gamesOf, settings);
}

export function pupil(table, settings) {
  const taught = new Taught(table);
  const start = () => {
    const fixed = new Table(taught.positions, taught.numbers.slice());
    return (heaps) => fixed.draw(heaps);
  };
  return { ...learnerAfter(table.games, settings), id: "pupil", note: () => "learns from you", taught, start };
}

function perfectMove(heaps, board) {
  const legal = legalMoves(heaps, board);
  const slow = legal.filter(({ heap, count }) => (board.text ? count < heaps[heap] : count === 1));
  return drawn([winningMoves(heaps, board), slow, legal].find(({ length }) => length));
}

export const EXPERT = player("perfect", "Expert", "perfect play", perfectMove);
export const NETWORK = player(
  "network",
  "Network",
  "873 weights",
  async (heaps, board) => networkMove(await loadNetwork(board.misere), heaps, board),
  ({ positions }) => (isLimited(positions.board) ? "noLimit" : ""),
);

export const LEVELS = [
  level("beginner", "Beginner"),
  level("student", "Student"),
  level("master", "Master"),
  NETWORK,
  EXPERT,
  player("friend", "2 people", "one screen"),
];

export const OTHERS = [
  player("random", "Random", "any move", (heaps, board) => drawn(legalMoves(heaps, board))),
  ...[1, 2, 3].map((n) =>
    player(`take-${n}`, `Take ${n}`, `always ${n}`, (heaps, board) => drawn(movesOf(n, heaps, board))),
  ),
];

export function playerOf(id) {
  const stage = readStage(id);
  return [...LEVELS, ...OTHERS].find((each) => each.id === id) ?? (stage && learnerAfter(stage.games, stage.settings));
}

function ownPlayer({ name, heaps, max_take: max, misere, probabilities, values }) {
  const most = Math.max(...heaps);
  const board = { heaps, max: Math.min(max ?? most, most), misere };
  const positions = new Positions(board);
  for (const list of [probabilities, values ?? probabilities]) {
    if (list.length !== positions.nValues || !list.every(Number.isFinite)) throw new Error("damaged");
  }
  const policy = new Table(positions, probabilities);
  const why = (learner) => (isSameBoard(board, learner.positions.board) ? "" : "wrongBoard");
  const table = new Table(positions, values ?? probabilities);
  const own = player(name, name, "yours", (heaps) => drawnBy(policy.values(heaps)), why);
  return { ...own, board, policy, table, values };
}

function drawnBy(probabilities) {
  let left = Math.random() * probabilities.reduce((sum, [, probability]) => sum + probability, 0);
  return (probabilities.find(([, probability]) => (left -= probability) < 0) ?? probabilities.at(-1))[0];
}

export async function loadPlayers(address, kept) {
  const players = await (await fetch(address)).json();
  OTHERS.push(...[...(JSON.parse(kept) ?? []), ...players].map(ownPlayer));
}
