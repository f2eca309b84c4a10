// The board: one column of blocks for each heap, as large as the screen allows, and the chosen blocks.

import { $, make } from "./dom.js";
import { groupOf, isSame, lessonOf, limit, nameOf, nimSum, winningMoves } from "./rules.js";
import { S, isFriend, isYours, shownPly, shownValues } from "./state.js";

const LEAST_HEIGHT = 20, GAP = (size) => (size < 26 ? 2 : size < 50 ? 3 : 5);

/** How a board is laid out: the size of a block, how many stand side by side in a heap, or lying heaps. */
function fit(width, height, { heaps, max }) {
  const n = heaps.length, most = Math.max(...heaps), label = height < 330 ? 30 : 44, top = 6;
  const heapGap = Math.max(6, Math.min(36, (width / n) * 0.14));
  const ones = (size) => size.toString(2).replaceAll("0", "").length;
  for (let columns = 1; columns <= 3; columns++) {
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

/** Sets the sizes for the room that the board has, and returns the layout. */
function layOut(board) {
  const padding = 2 * parseFloat(getComputedStyle(board).paddingLeft);
  const layout = fit(board.clientWidth - padding, board.clientHeight, S.game.rules);
  board.classList.toggle("lying", Boolean(layout.isLying));
  board.classList.toggle("past", S.view !== null);
  board.classList.toggle("tiny", layout.high < 26);
  const sizes = {
    "--w": layout.wide, "--h": layout.high, "--gap": layout.gap, "--heap-gap": layout.heapGap, "--label": layout.label,
    "--row": layout.row, "--heap": layout.columns * (layout.wide + layout.gap) - layout.gap,
    "--group-gap": 3 + (S.game.rules.max ? 0 : 0.14 * layout.high),
  };
  for (const [name, size] of Object.entries(sizes)) board.style.setProperty(name, `${size}px`);
  board.style.setProperty("--columns", layout.columns);
  return layout;
}

/** The outlines of taken blocks, as the player of each: since your last turn; in the past, of the move that led here;
 * after the end, of the whole game. */
function ghostsOf(ply) {
  const { game } = S, isEnd = game.winner !== null && S.view === null;
  const yours = game.moves.slice(0, ply).findLastIndex((_, i) => game.playerAt(i) === 0);
  const from = isEnd ? 0 : Math.max(0, S.view !== null || isFriend() ? ply - 1 : yours);
  const moves = game.moves.slice(from, ply).map((move, i) => ({ ...move, player: game.playerAt(from + i) }));
  return game.rules.heaps.map((_, heap) => moves.filter((move) => move.heap === heap).reverse()
    .flatMap(({ count, player }) => Array(count).fill(player)));
}

/** The move to outline: in a replay the one that was missed, else the one that "Teach me" recommends. */
function hintAt(heaps, ply) {
  const { game } = S;
  if (S.view !== null) return ply === game.decisive ? game.better : null;
  return S.panel === "teach" && $("show-move").checked && isYours() ? lessonOf(heaps, game.rules).move : null;
}

export function drawBoard() {
  const board = $("board"), ply = shownPly(), { game } = S, { rules } = game, heaps = game.heapsAt(ply);
  const focused = document.activeElement?.closest?.(".heap")?.dataset.heap;
  const layout = layOut(board), ghosts = ghostsOf(ply), hint = hintAt(heaps, ply), sum = nimSum(heaps, rules);
  const hasGroups = S.panel === "teach" && !layout.isLying && layout.columns === 1;
  const values = S.panel === "learn" && $("show-values").checked ? shownValues(heaps) : [];
  const top = Math.max(...values.map(([, value]) => value ?? 0)); // as the learner plays: untried moves count 0
  const best = values.filter(([, value]) => (value ?? 0) === top);
  board.replaceChildren(...rules.heaps.map((size, heap) => {
    const left = heaps[heap], stack = make("div", { className: "stack" });
    for (let n = 0; n < left + ghosts[heap].length; n++) {
      const count = left - n, move = { heap, count }, block = make("i", { className: "block" });
      stack.append(block);
      if (n >= left) {
        block.classList.add("ghost", `p${ghosts[heap][n - left]}`);
        continue;
      }
      if (hasGroups) markGroup(block, groupOf(n, left, rules), sum);
      const valued = values.find(([each]) => isSame(each, move));
      if (valued) markValue(block, valued[1], best.length < 4 && best.includes(valued), layout.wide < 40);
      if (rules.max && count > rules.max) block.classList.add("locked");
      if (hint?.heap === heap && count <= hint.count) block.classList.add("winning");
    }
    return make("div", {
      className: `heap${left ? "" : " empty"}`,
      data: { heap },
      style: { "--rows": Math.ceil(size / layout.columns) },
      attrs: {
        role: "slider", tabindex: left && S.view === null && game.winner === null ? 0 : -1,
        "aria-label": `Heap ${nameOf(heap)}`, "aria-orientation": layout.isLying ? "horizontal" : "vertical",
        "aria-valuemin": left - limit(left, rules), "aria-valuemax": left, "aria-valuenow": left,
      },
    }, stack, make("p", { className: "label" }, make("span", { textContent: nameOf(heap) }), make("b", { textContent: left })));
  }));
  if (focused !== undefined) board.querySelector(`[data-heap="${focused}"]`).focus({ preventScroll: true });
  drawChoice();
}

function markGroup(block, { size, isFirst, isWhole }, sum) {
  if (!isFirst) return;
  block.previousElementSibling?.classList.add("group-end");
  block.append(make("em", { textContent: size, className: !isWhole && sum & size ? "odd" : "even" }));
}

function markValue(block, value, isBest, isNarrow) {
  block.append(make("span", { className: "value", textContent: textOf(value, isNarrow) }));
  block.classList.add("valued");
  block.classList.toggle("its-move", isBest);
  block.style.setProperty("--v", Math.min(1, Math.abs(value ?? 0)));
  block.dataset.sign = value < 0 ? "minus" : "plus";
}

function textOf(value, isNarrow) {
  if (value === null) return "?";
  const digits = Math.abs(value).toFixed(isNarrow ? 1 : 2);
  return Number(digits) === 0 ? digits : (value < 0 ? "−" : "+") + digits;
}

export function drawChoice() {
  const { chosen, game } = S, board = $("board"), player = isFriend() ? game.player : 0;
  for (const heap of board.children) {
    const index = Number(heap.dataset.heap), left = Number(heap.getAttribute("aria-valuemax"));
    const count = chosen?.heap === index ? chosen.count : 0, blocks = [...heap.querySelectorAll(".block:not(.ghost)")];
    blocks.forEach((block, n) => {
      block.classList.toggle("chosen", n >= left - count);
      block.classList.toggle("edge", count > 0 && n === left - count);
      block.dataset.take = `take ${count}`;
    });
    heap.setAttribute("aria-valuenow", left - count);
    heap.setAttribute("aria-valuetext", count ? `take ${count}, leave ${left - count}`
      : left ? `${left} ${left === 1 ? "block" : "blocks"}, none chosen` : "empty");
    heap.querySelector(".label b").textContent = left - count;
    heap.querySelector(".label").classList.toggle("changed", count > 0);
  }
  board.style.setProperty("--you", `var(--p${player})`);
  $("take").disabled = !chosen;
  $("take").textContent = chosen ? `Take ${chosen.count} from ${nameOf(chosen.heap)}` : isYours() ? "Choose blocks" : "Wait …";
  $("take").className = `primary p${player}`;
  $("less").disabled = !chosen || chosen.count <= 1;
  $("more").disabled = !chosen || chosen.count >= limit(game.heaps[chosen.heap], game.rules);
}
