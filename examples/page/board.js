// The board, as large as the screen allows, and the chosen blocks.

import { $, make, set, style, sync } from "./dom.js";
import { analyze, groupOf, isAlone, isLimited, isSame, limit, nameOf } from "./rules.js";
import { hasGroups, isFriend, phase, shownHeaps, shownPly, shownTable, state } from "./state.js";
import { heapLabel, signed, wordsOf } from "./words.js";

const gapFor = (size) => (size < 26 ? 2 : size < 50 ? 3 : 5);

function fit(width, height, board) {
  const { heaps, max } = board;
  const n = heaps.length;
  const most = Math.max(...heaps);
  const label = height < 330 ? 30 : 44;
  const heapGap = Math.max(6, Math.min(36, (width / n) * 0.14));
  const least = n === 1 && isLimited(board) ? Math.min(max + 1, 7) : 1; // a row for each multiple
  const isLearn = state.panel === "learn";
  const ones = (size) => size.toString(2).replaceAll("0", "").length;
  for (let columns = least; columns <= (n === 1 ? 7 : 3); columns++) {
    // room between the groups of 4, 2 and 1, so only the values, in one column, change the size
    const inOne = isLimited(board) ? Math.floor(most / (max + 1)) : Math.max(...heaps.map(ones)) - 1;
    const groups = columns > 1 || isLearn ? 0 : inOne;
    const rows = Math.ceil(most / columns) + (isLimited(board) ? 0 : groups * 0.14);
    const room = (height - label - 6 - groups * 3) / rows;
    const gap = gapFor(room);
    const high = Math.min(room - gap, 130);
    const wide = (width / n - heapGap + gap) / columns - gap;
    if (room >= (isLearn ? 15.5 : 19.5) && wide >= (columns === 1 ? 22 : 26)) {
      const most = Math.min(240, Math.max(3 * high, 96 / columns));
      return { columns, gap, heapGap, label, row: 0, high, wide: Math.min(wide, most) };
    }
  }
  // targets below 44 pixels, but − and + correct a slip
  const row = Math.min(56, height / n);
  const wide = Math.min(30, (width - 66) / most - 2);
  return { isLying: true, columns: most, gap: 2, heapGap: 0, label: 64, row, high: Math.min(0.7 * row, 34), wide };
}

function layOut(node) {
  const padding = 2 * parseFloat(getComputedStyle(node).paddingLeft);
  const { board } = state.game;
  const layout = fit(node.clientWidth - padding, node.clientHeight, board);
  const { columns, gap, heapGap, label, row, high, wide } = layout;
  const classes = {
    lying: Boolean(layout.isLying),
    past: state.view !== null,
    tiny: high < 26,
    narrow: wide < 34 || high < 13,
  };
  for (const name in classes) node.classList.toggle(name, classes[name]);
  style(node, {
    "--w": `${wide}px`,
    "--h": `${high}px`,
    "--gap": `${gap}px`,
    "--heap-gap": `${heapGap}px`,
    "--label": `${label}px`,
    "--row": `${row}px`,
    "--heap": `${columns * (wide + gap) - gap}px`,
    "--group-gap": `${3 + (isLimited(board) ? 0 : 0.14 * high)}px`,
  });
  state.layout = layout;
}

/** The player of each outlined block: taken since your last turn, by the move that led here, or in the whole game. */
function ghostsIn(heap) {
  const { game } = state;
  if (state.watched) return [];
  const ply = shownPly();
  const yours = game.moves.slice(0, ply).findLastIndex((_, i) => game.playerAt(i) === 0);
  const last = state.view !== null || isFriend() ? ply - 1 : yours;
  const from = phase() === "over" ? 0 : Math.max(0, phase() === "stopped" ? ply - 2 : last);
  const players = (move, i) => (move.heap === heap ? Array(move.count).fill(game.playerAt(from + i)) : []);
  return game.moves.slice(from, ply).flatMap(players).reverse();
}

function hintsFor(heaps) {
  const { game } = state;
  if (state.view !== null) return state.view === game.decisive ? game.better : [];
  const isHint = state.panel === "teach" && state.showsMove && phase() === "yours";
  const { move } = analyze(heaps, game.board);
  return isHint && move ? [move] : [];
}

const makeHeap = (_, heap) =>
  make(
    "div",
    { className: "heap", data: { heap }, attrs: { role: "slider", "aria-label": `Heap ${nameOf(heap)}` } },
    make("div", { className: "stack" }),
    make("p", { className: "label" }, make("span", { textContent: nameOf(heap) }), make("b")),
  );
const makeBlock = () => make("i", {}, make("em"), make("span", { className: "value" }));

/** A value with its sign; the probabilities of your own player have none. */
function valueText(value, digits = 2) {
  const { table, values } = state.opponent;
  if (value === undefined) return "";
  if (value === null) return "?";
  return table && !values ? value.toFixed(digits) : signed(value, digits);
}

export const shownValues = (heaps) => (state.panel === "learn" && shownTable()?.values(heaps)) || [];

export function drawBoard() {
  const { game, opponent, watched } = state;
  const { board } = game;
  const { move: learned, answer } = watched ?? {};
  const heaps = shownHeaps();
  layOut($("board"));
  const { isLying, columns, wide } = state.layout;
  const analysis = analyze(heaps, board);
  const isGrouped = hasGroups();
  const values = shownValues(heaps);
  const isMistake = state.view !== null && state.view === game.decisive && !values.length;
  const hints = values.length ? [] : hintsFor(heaps); // a tick would cover the values
  const choices = values.length ? (opponent.policy?.values(heaps) ?? values) : [];
  const top = Math.max(...choices.map(([, value]) => value ?? 0)); // as the learner plays: untried moves count 0
  const isMet = choices.some(([, value]) => value !== null);
  const best = choices.flatMap(([move, value]) => (isMet && (value ?? 0) === top ? [move] : []));
  const takes = (move, heap, count) => move?.heap === heap && count > 0 && count <= move.count;
  const answers = (heap, count) => takes(answer, heap, learned?.heap === heap ? count - learned.count : count);

  function drawBlock(node, heap, n, left, ghost) {
    const move = { heap, count: left - n };
    const [group, number] = node.children;
    const valued = ghost === undefined && values.find(([each]) => isSame(each, move));
    const value = valued ? valued[1] : undefined;
    const isUpdated = valued && learned && isSame(move, learned) && wide > 110;
    const part = isGrouped && ghost === undefined ? groupOf(n, left, board) : null;
    const classes = {
      [`ghost p${ghost}`]: ghost !== undefined,
      "group-end": isGrouped && n + 1 < left && groupOf(n + 1, left, board).isFirst,
      [`going p${game.player}`]: takes(state.going, heap, move.count),
      leaving: takes(state.going, heap, move.count) && state.going.isLeaving,
      locked: move.count > board.max,
      winning: hints.some((hint) => takes(hint, heap, move.count)),
      mistake: isMistake && takes(game.moves[state.view], heap, move.count),
      valued,
      untried: value === null,
      minus: value < 0,
      learning: takes(learned, heap, move.count),
      answering: answers(heap, move.count),
      updated: isUpdated,
      "its-move": valued && !isUpdated && best.length < 4 && best.some((each) => isSame(each, move)),
    };
    node.className = ["block", ...Object.keys(classes).filter((name) => classes[name])].join(" ");
    group.hidden = !part?.isFirst;
    if (part) group.textContent = part.size;
    group.className = part && !part.isWhole && isAlone(heap, part.size, analysis) ? "odd" : "even";
    number.textContent = (isUpdated ? `${signed(watched.from)} → ` : "") + valueText(value, wide < 44 ? 1 : 2);
    style(node, { "--v": `${Math.round(100 * Math.min(1, Math.abs(value ?? 0)))}%` });
  }

  sync($("board"), board.heaps, makeHeap, (node, size, heap) => {
    const left = heaps[heap];
    style(node, { "--rows": Math.ceil(size / columns) });
    set(node, {
      "aria-orientation": isLying ? "horizontal" : "vertical",
      "aria-valuemin": left - limit(left, board),
      "aria-valuemax": left,
      tabindex: left && !["past", "over"].includes(phase()) ? 0 : -1,
    });
    node.classList.toggle("empty", !left);
    const blocks = [...Array(left), ...ghostsIn(heap)];
    sync(node.firstElementChild, blocks, makeBlock, (block, ghost, n) => drawBlock(block, heap, n, left, ghost));
  });
  drawChoice();
}

export function drawChoice() {
  const { chosen, game } = state;
  const heaps = shownHeaps();
  const values = shownValues(heaps);
  heaps.forEach((left, heap) => {
    const node = $("board").children[heap];
    const label = node.querySelector(".label");
    const count = chosen?.heap === heap ? chosen.count : 0;
    [...node.firstElementChild.children].forEach((block, n) => {
      block.classList.toggle("chosen", n < left && n >= left - count);
      block.classList.toggle("edge", count > 0 && n === left - count);
      block.dataset.take = `take ${count}`;
    });
    const value = valueText(values.find(([move]) => isSame(move, { heap, count }))?.[1]);
    set(node, { "aria-valuenow": left - count, "aria-valuetext": heapLabel(left, count, value) });
    label.lastElementChild.textContent = left - count;
    label.classList.toggle("changed", count > 0);
  });
  const player = isFriend() ? game.player : 0;
  style($("board"), { "--you": `var(--p${player})` });
  const said = chosen ? `Take ${wordsOf(chosen)}` : phase() === "yours" ? "Choose blocks" : "Wait …";
  Object.assign($("take"), { disabled: !chosen, textContent: said, className: `primary p${player}` });
  $("less").disabled = !chosen || chosen.count <= 1;
  $("more").disabled = !chosen || chosen.count >= limit(game.heaps[chosen.heap], game.board);
}
