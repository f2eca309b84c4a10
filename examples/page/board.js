// The board: one column of blocks for each heap, as large as the screen allows, and the chosen blocks.

import { $, make, set, style, sync } from "./dom.js";
import { groupOf, isSame, lessonOf, limit, nameOf, nimSum } from "./rules.js";
import { S, isFilm, isFriend, isYours, shownHeaps, shownPly, shownValues } from "./state.js";
import { LESSONS, blockLabels, signed, takeLabel } from "./words.js";

const LEAST_HEIGHT = 20, GAP = (size) => (size < 26 ? 2 : size < 50 ? 3 : 5);

/** How a board is laid out: the size of a block, how many stand side by side in a heap, or lying heaps. */
function fit(width, height, { heaps, max }) {
  const n = heaps.length, most = Math.max(...heaps), label = height < 330 ? 30 : 44, top = 6;
  const heapGap = Math.max(6, Math.min(36, (width / n) * 0.14));
  const ones = (size) => size.toString(2).replaceAll("0", "").length;
  for (let columns = 1; columns <= (n === 1 ? 7 : 3); columns++) {
    // one column leaves room between the groups of 4, 2 and 1, so that "Teach me" does not change the size
    const groups = columns > 1 ? 0 : max ? Math.floor(most / (max + 1)) : Math.max(...heaps.map(ones)) - 1;
    const rows = Math.ceil(most / columns) + (max ? 0 : groups * 0.14);
    const room = (height - label - top - groups * 3) / rows, gap = GAP(room);
    const high = Math.min(room - gap, 130), wide = (width / n - heapGap + gap) / columns - gap;
    if (room >= LEAST_HEIGHT - 0.5 && wide >= (columns === 1 ? 22 : 26)) {
      return { columns, gap, heapGap, label, row: 0, high, wide: Math.min(wide, Math.max(3 * high, 96 / columns)) };
    }
  }
  // these rows may be the only targets below 44 pixels; − and + correct a slip
  const row = Math.min(56, height / n);
  const wide = Math.min(30, (width - 66) / most - 2);
  return { isLying: true, columns: most, gap: 2, heapGap: 0, label: 64, row, high: Math.min(0.7 * row, 34), wide };
}

/** Sets the sizes for the room that the board has. */
function layOut(board) {
  const padding = 2 * parseFloat(getComputedStyle(board).paddingLeft);
  const layout = fit(board.clientWidth - padding, board.clientHeight, S.game.rules);
  board.classList.toggle("lying", Boolean(layout.isLying));
  board.classList.toggle("past", S.view !== null);
  board.classList.toggle("tiny", layout.high < 26);
  board.classList.toggle("narrow", layout.wide < 34 || layout.high < 13);
  board.classList.toggle("slim", layout.wide < 64);
  const sizes = {
    "--w": layout.wide, "--h": layout.high, "--gap": layout.gap, "--heap-gap": layout.heapGap, "--label": layout.label,
    "--row": layout.row, "--heap": layout.columns * (layout.wide + layout.gap) - layout.gap,
    "--group-gap": 3 + (S.game.rules.max ? 0 : 0.14 * layout.high),
  };
  for (const name in sizes) board.style.setProperty(name, `${sizes[name]}px`);
  S.layout = layout;
}

/** The outlines of taken blocks, as the player of each: since your last turn; in the past, of the move that led here;
 * after the end, of the whole game. */
function ghostsOf(ply) {
  if (isFilm()) return S.game.rules.heaps.map(() => []);
  const { game } = S, isEnd = game.winner !== null && S.view === null;
  const yours = game.moves.slice(0, ply).findLastIndex((_, i) => game.playerAt(i) === 0);
  const from = isEnd ? 0 : Math.max(0, S.view !== null || isFriend() ? ply - 1 : yours);
  const moves = game.moves.slice(from, ply).map((move, i) => ({ ...move, player: game.playerAt(from + i) }));
  return game.rules.heaps.map((_, heap) => moves.filter((move) => move.heap === heap).reverse()
    .flatMap(({ count, player }) => Array(count).fill(player)));
}

/** The moves to outline: in a replay those that were missed, else the one that "Teach me" recommends. */
function hintsAt(heaps, ply) {
  const { game } = S;
  if (S.view !== null) return ply === game.decisive ? game.better : [];
  const move = S.panel === "teach" && S.showsMove && isYours() && lessonOf(heaps, game.rules).move;
  return move ? [move] : [];
}

const makeHeap = (_, heap) => make("div", { className: "heap", data: { heap }, attrs: { role: "slider" } },
  make("div", { className: "stack" }),
  make("p", { className: "label" }, make("span", { textContent: nameOf(heap) }), make("b")));
const makeBlock = () => make("i", {}, make("em"), make("span", { className: "value" }));

export function drawBoard() {
  const board = $("board"), ply = shownPly(), { game } = S, { rules } = game, heaps = shownHeaps();
  layOut(board);
  const { isLying, columns, wide } = S.layout;
  const ghosts = ghostsOf(ply), sum = nimSum(heaps, rules);
  const hasGroups = S.panel === "teach" && !isLying && columns === 1 && (LESSONS[S.lesson]?.hasGroups ?? true);
  const values = S.panel === "learn" && S.showsValues ? shownValues(heaps) : [];
  const hints = values.length ? [] : hintsAt(heaps, ply); // a tick would cover the values
  const mistake = S.view !== null && ply === game.decisive && !values.length ? game.moves[ply] : null;
  const top = Math.max(...values.map(([, value]) => value ?? 0)); // as the learner plays: untried moves count 0
  const best = values.filter(([, value]) => (value ?? 0) === top);
  board.classList.toggle("moving", Boolean(S.film));
  sync(board, rules.heaps, makeHeap, (node, size, heap) => {
    const left = heaps[heap], gone = S.going?.heap === heap ? left - S.going.count : left;
    style(node, { "--rows": Math.ceil(size / columns) });
    set(node, { "aria-label": `Heap ${nameOf(heap)}`, "aria-orientation": isLying ? "horizontal" : "vertical",
      "aria-valuemin": left - limit(left, rules), "aria-valuemax": left,
      tabindex: left && S.view === null && game.winner === null && !isFilm() ? 0 : -1 });
    node.classList.toggle("empty", !left);
    const blocks = Array.from({ length: left + ghosts[heap].length }, (_, n) => n);
    sync(node.firstElementChild, blocks, makeBlock, (block, n) => {
      const move = { heap, count: left - n }, [group, number] = block.children;
      const valued = n < left && values.find(([each]) => isSame(each, move));
      const value = valued ? valued[1] : undefined, part = hasGroups && n < left ? groupOf(n, left, rules) : null;
      const isEnd = hasGroups && n + 1 < left && groupOf(n + 1, left, rules).isFirst;
      block.className = ["block",
        n >= left && `ghost p${ghosts[heap][n - left]}`, isEnd && "group-end",
        n < left && n >= gone && `going p${game.player}${S.going.isLeaving ? " leaving" : ""}`,
        n < left && rules.max && move.count > rules.max && "locked",
        n < left && hints.some((hint) => hint.heap === heap && move.count <= hint.count) && "winning",
        n < left && mistake?.heap === heap && move.count <= mistake.count && "mistake",
        valued && (value === null ? "valued untried" : value < 0 ? "valued minus" : "valued"),
        valued && best.length < 4 && best.includes(valued) && "its-move"].filter(Boolean).join(" ");
      group.hidden = !part?.isFirst;
      if (part) group.textContent = part.size;
      group.className = part && !part.isWhole && sum & part.size ? "odd" : "even";
      number.textContent = value === undefined ? "" : value === null ? "?" : signed(value, wide < 44 ? 1 : 2);
      if (valued) style(block, { "--v": `${Math.round(100 * Math.min(1, Math.abs(value ?? 0)))}%` });
    });
  });
  drawChoice();
}

export function drawChoice() {
  const { chosen, game } = S, board = $("board"), player = isFriend() ? game.player : 0, heaps = shownHeaps();
  heaps.forEach((left, heap) => {
    const node = board.children[heap], label = node.querySelector(".label"), count = chosen?.heap === heap ? chosen.count : 0;
    [...node.firstElementChild.children].forEach((block, n) => {
      block.classList.toggle("chosen", n < left && n >= left - count);
      block.classList.toggle("edge", count > 0 && n === left - count);
      block.dataset.take = `take ${count}`;
    });
    set(node, { "aria-valuenow": left - count, "aria-valuetext": blockLabels(left, count) });
    label.lastElementChild.textContent = left - count;
    label.classList.toggle("changed", count > 0);
  });
  board.style.setProperty("--you", `var(--p${player})`);
  $("take").disabled = !chosen;
  $("take").textContent = takeLabel(chosen, isYours());
  $("take").className = `primary p${player}`;
  $("less").disabled = !chosen || chosen.count <= 1;
  $("more").disabled = !chosen || chosen.count >= limit(game.heaps[chosen.heap], game.rules);
}
