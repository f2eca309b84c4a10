// Links, such as #heaps=1-3-5-7&last=loses&vs=beginner&first=you&moves=D2.B1, and custom boards.

import { LESSONS, PRESETS } from "./boards.js";
import { Game } from "./game.js";
import { readStage } from "./learner.js";
import { isLimited, nameOf } from "./rules.js";
import { BAD } from "./words.js";

const MAX_HEAPS = 15;
const MAX_BLOCKS = 50;
const FORMS = {
  lesson: /^[1-6]$/,
  from: /^\d+(-\d+)*$/,
  last: /^(loses|wins)$/,
  first: /^(you|opponent)$/,
  view: /^\d+$/,
  panel: /^(moves|teach|learn)$/,
  stage: { test: readStage },
};
const KEYS = ["lesson", "heaps", "from", "last", "take", "vs", "first", "moves", "view", "panel", "stage"];

export function toLink({ board, first, start, moves }, shown) {
  const parts = {
    lesson: LESSONS.indexOf(board) + 1 || null,
    heaps: board.heaps.join("-"),
    from: start === board.heaps ? null : start.join("-"),
    last: board.misere ? "loses" : "wins",
    take: isLimited(board) ? board.max : null,
    first: first ? "opponent" : "you",
    moves: moves.map(({ heap, count }) => nameOf(heap) + count).join(".") || null,
    ...shown,
  };
  const given = KEYS.filter((key) => parts[key] != null);
  return `#${given.map((key) => `${key}=${encodeURIComponent(parts[key])}`).join("&")}`;
}

export const isLink = (hash) => [...new URLSearchParams(hash.slice(1)).keys()].some((key) => KEYS.includes(key));

export function fromLink(hash) {
  const parts = Object.fromEntries(new URLSearchParams(hash.slice(1)));
  const fits = (key) => (FORMS[key] ? FORMS[key].test(parts[key]) : KEYS.includes(key));
  const wrong = Object.keys(parts).find((key) => !fits(key));
  if (wrong) throw new Error(BAD.part(wrong, parts[wrong]));
  const heaps = (parts.heaps ?? PRESETS[0].name).replaceAll("-", " ");
  const { errors, board: written } = readBoard(heaps, parts.take ?? "", parts.last !== "wins");
  if (!written) throw new Error(errors.heaps || errors.max);
  const board = LESSONS[parts.lesson - 1] ?? written;
  const from = parts.from?.split("-").map(Number) ?? board.heaps;
  const isInside = from.length === board.heaps.length && from.every((size, heap) => size <= board.heaps[heap]);
  if (!isInside || !from.some(Boolean)) throw new Error(BAD.part("from", parts.from));
  const start = String(from) === String(board.heaps) ? board.heaps : from;
  const given = { you: 0, opponent: 1 }[parts.first];
  const first = given ?? board.first ?? 0;
  const game = new Game(board, first, start);
  for (const text of (parts.moves ?? "").split(".").filter(Boolean)) {
    const [, letter, count] = /^([A-O])(\d+)$/.exec(text) ?? [];
    try {
      game.play({ heap: (letter ?? "?").charCodeAt(0) - 65, count: Number(count) });
    } catch {
      throw new Error(BAD.part("moves", text));
    }
  }
  const view = parts.view === undefined ? null : Math.min(Number(parts.view), game.moves.length);
  const stage = parts.stage === undefined ? null : readStage(parts.stage);
  const { vs = "beginner", panel = null } = parts;
  return { game, vs, view, panel, stage, isFirstGiven: given !== undefined };
}

export function readBoard(heapsText, maxText, misere) {
  const words = heapsText.match(/[^\s,;+-]+/g) ?? [];
  const heaps = words.map(Number);
  const max = maxText.trim();
  const errors = { heaps: heapsError(words, heaps), max: max && !/^0*[1-9]\d*$/.test(max) ? BAD.limit : "" };
  if (errors.heaps || errors.max) return { errors, board: null };
  const most = Math.max(...heaps);
  return { errors, board: { heaps, max: Math.min(max || most, most), misere } };
}

function heapsError(words, heaps) {
  const wrong = words.find((word) => !/^\d+$/.test(word));
  if (!words.length) return BAD.noHeaps;
  if (wrong !== undefined) return BAD.size(wrong);
  if (heaps.includes(0)) return BAD.zero;
  if (heaps.length > MAX_HEAPS) return BAD.manyHeaps(MAX_HEAPS, heaps.length);
  if (Math.max(...heaps) > MAX_BLOCKS) return BAD.manyBlocks(MAX_BLOCKS, Math.max(...heaps));
  return "";
}
