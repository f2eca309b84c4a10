// What the page shows. The drawing modules read it; page.js and input.js change it and draw again.

import { Game, PRESETS } from "./game.js";
import { LEVELS, OTHERS } from "./players.js";

export const S = {
  game: new Game(PRESETS[0], 0),
  learner: null,
  level: "beginner", // an id of LEVELS or OTHERS, or "stage": the learner in training, at the stage of `games`
  games: 20, // those of the learner whose values are shown
  starts: "you", // or "opponent" or "turns"
  number: 1, // of the game
  view: null, // the ply of a past position; null: the present
  chosen: null, // a move
  isTooMany: false,
  by: matchMedia("(hover: none)").matches ? "touch" : "mouse", // or "keys": the input used last
  isBusy: false, // the opponent moves
  panel: null, // or "moves", "teach" or "learn"
  score: [0, 0],
  isCounted: false,
};

export const isFriend = () => S.level === "friend";
export const isOpponent = (player) => player === 1 && !isFriend();
export const names = () => (isFriend() ? ["Player 1", "Player 2"] : ["You", "Opponent"]);
export const shownPly = () => S.view ?? S.game.moves.length;
export const isYours = () => S.game.winner === null && S.view === null && !S.isBusy && !isOpponent(S.game.player);
export const levelOf = (id) => [...LEVELS, ...OTHERS].find((level) => level.id === id);

/** The number of games that a trained level has trained on this board. */
export const gamesOf = (id) => (id === "stage" ? S.games : S.learner?.levels()[id]);

/** Why this opponent cannot play this board; nothing if it can. */
export function reasonAgainst({ id, isTrained, tooBig }) {
  if (isTrained && S.learner && !S.learner.isSmall) return tooBig;
  if (id === "network" && S.game.rules.max) return "The network has learned the game without a limit of a move.";
  return "";
}

/** The numbers on the blocks, [move, value]: of your own player or of the learner; none if there are none. */
export function shownValues(heaps) {
  const { learner } = S, own = levelOf(S.level)?.table;
  if (own) return own.values(heaps);
  const stage = learner.stageOf(S.games);
  return learner.isSmall && stage >= 0 ? learner.values(heaps, stage) : [];
}
