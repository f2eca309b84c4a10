// Links, #heaps=1-3-5-7&last=loses&vs=beginner&first=you&moves=D2.B1&view=1&panel=learn&stage=20, and your own board.

import { Game, PRESETS } from "./game.js";
import { nameOf } from "./rules.js";
import { BAD } from "./words.js";

const MAX_HEAPS = 15, MAX_BLOCKS = 50; // what a screen can show
const FORMS = { last: /^(loses|wins)$/, first: /^(you|opponent)$/, panel: /^(moves|teach|learn)$/, view: /^\d+$/, stage: /^\d+$/ };
const KEYS = ["heaps", "last", "take", "vs", "first", "moves", "view", "panel", "stage"];

/** The link of a game; `shown` has the parts that are not the game's: vs, view, panel and stage. */
export function toLink({ rules, first, moves }, shown) {
  const parts = {
    heaps: rules.heaps.join("-"), last: rules.misere ? "loses" : "wins", take: rules.max,
    first: first ? "opponent" : "you", moves: moves.map(({ heap, count }) => nameOf(heap) + count).join("."), ...shown,
  };
  const given = KEYS.filter((key) => parts[key] != null && parts[key] !== "");
  return `#${given.map((key) => `${key}=${encodeURIComponent(parts[key])}`).join("&")}`;
}

/** Whether an address names a part of a game: "#board" does not. */
export const isLink = (hash) => [...new URLSearchParams(hash.slice(1)).keys()].some((key) => KEYS.includes(key));

/** The game of a link and what it shows. Throws an error in one sentence if it is broken. */
export function fromLink(hash) {
  const parts = Object.fromEntries(new URLSearchParams(hash.slice(1)));
  const start = parts.heaps ?? PRESETS[0].heaps.join("-");
  const { errors, rules } = readBoard(start.replaceAll("-", " "), parts.take ?? "", parts.last !== "wins");
  if (errors.heaps || errors.max) throw new Error(errors.heaps || errors.max);
  const wrong = Object.keys(FORMS).find((key) => key in parts && !FORMS[key].test(parts[key]));
  if (wrong) throw new Error(BAD.part(wrong, parts[wrong]));
  const game = new Game(rules, parts.first === "opponent" ? 1 : 0);
  for (const text of (parts.moves ?? "").split(".").filter(Boolean)) {
    const [, letter, count] = /^([A-O])(\d+)$/.exec(text) ?? [];
    try {
      game.play({ heap: (letter ?? "?").charCodeAt(0) - 65, count: Number(count) });
    } catch {
      throw new Error(BAD.move(text));
    }
  }
  const view = parts.view === undefined ? null : Math.min(Number(parts.view), game.moves.length);
  const stage = parts.stage === undefined ? null : Number(parts.stage);
  return { game, vs: parts.vs ?? "beginner", view, panel: parts.panel ?? null, stage };
}

/** The board that someone has written, or what is wrong with it in words. */
export function readBoard(heapsText, maxText, misere) {
  const errors = { heaps: "", max: "" }, max = maxText.trim();
  const words = heapsText.trim().split(/[\s,;+-]+/).filter(Boolean);
  const wrong = words.find((word) => !/^\d+$/.test(word)), heaps = words.map(Number), most = Math.max(...heaps);
  if (!words.length) errors.heaps = BAD.noHeaps;
  else if (wrong !== undefined) errors.heaps = BAD.size(wrong);
  else if (heaps.includes(0)) errors.heaps = BAD.zero;
  else if (heaps.length > MAX_HEAPS) errors.heaps = BAD.manyHeaps(MAX_HEAPS, heaps.length);
  else if (most > MAX_BLOCKS) errors.heaps = BAD.manyBlocks(MAX_BLOCKS, most);
  if (max && !/^\d+$/.test(max)) errors.max = BAD.limit;
  else if (max && Number(max) < 1) errors.max = BAD.least;
  const isLimit = max && !errors.max && Number(max) < most;
  return { errors, rules: { heaps, max: isLimit ? Number(max) : null, misere } };
}
