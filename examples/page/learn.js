// "Watch it learn": the training that is shown, its curve, and the map of positions.

import { $, make, makeSvg, style, sync } from "./dom.js";
import { drawn } from "./learner.js";
import { isWinning } from "./rules.js";
import { NETWORK } from "./players.js";
import { shownGames, shownHeaps, shownTable, state } from "./state.js";
import * as words from "./words.js";

const STEP = 220; // milliseconds of a stage that is shown
const MAX_MAPPED = 1000; // positions

// --- The training that is shown ---------------------------------------------------------------------

/** `show()` draws each stage. */
export function startTraining(show) {
  const isAtEnd = shownGames() >= state.learner.plan.at(-1);
  Object.assign(state, { training: {}, games: isAtEnd ? 0 : shownGames() });
  showNext(state.training, show);
}

/** Shows one stage after another, until another training is shown or none. */
function showNext(training, show) {
  if (training !== state.training) return;
  const { learner } = state;
  const next = learner.tables[learner.stageOf(shownGames()) + 1];
  if (next) state.games = next.games;
  else if (learner.isTrained) state.training = null;
  show();
  setTimeout(() => showNext(training, show), STEP);
}

export function showStage(stage) {
  Object.assign(state, { training: null, games: state.learner.tables[stage].games });
}

// --- The panel --------------------------------------------------------------------------------------

export function drawLearn() {
  const { learner, opponent, game, training } = state;
  const table = shownTable();
  const isOwn = Boolean(opponent.table);
  const isLearner = learner.isSmall && !isOwn;
  const hasNetwork = !learner.isSmall && !isOwn && !NETWORK.why(learner);
  let intro = hasNetwork ? words.networkText : words.learnIntro;
  if (isOwn) intro = `${opponent.name} is yours. It does not learn here.`;
  const text = training ? words.trainingText(shownGames()) : (game.told ?? intro);
  $("learn-intro").textContent = isLearner || isOwn || hasNetwork ? text : words.SAY.tooBig;
  $("let-network").hidden = !hasNetwork || opponent === NETWORK;
  $("learn-figures").hidden = !isLearner || !table;
  $("learn-hint").hidden = !isLearner && !isOwn;
  const heaps = shownHeaps();
  const isLost = !isOwn && heaps.some(Boolean) && !isWinning(heaps, game.board);
  const said = isOwn && !opponent.values ? words.probabilitiesText(opponent.name) : words.valuesText;
  $("learn-hint").textContent = (isLost ? words.allLose : "") + said;
  if (isLearner && table) drawFigures(table);
}

function drawFigures(table) {
  const { learner, opponent, training } = state;
  const lessons = table.lessons ? ` + ${table.lessons}` : "";
  $("n-games").textContent = words.thousands(table.games) + lessons;
  $("games-word").textContent = table.games === 1 && !lessons ? " game" : " games";
  $("n-mastery").textContent = words.percent(table.mastery);
  $("mastery-word").textContent = words.masteryText;
  Object.assign($("games"), { max: learner.tables.length - 1, value: learner.stageOf(table.games) });
  $("games").setAttribute(
    "aria-valuetext",
    `${words.plural(table.games, "game")}, ${words.percent(table.mastery)} ${words.masteryText}`,
  );
  $("train").firstElementChild.firstElementChild.setAttribute("href", training ? "#i-pause" : "#i-play");
  $("train").lastElementChild.textContent = training ? "Pause" : "Train";
  const isIt = opponent.taught ? table === opponent.taught : opponent.games?.(learner) === table.games;
  Object.assign($("play-it"), { textContent: isIt ? "You play it" : "Play it", disabled: isIt });
  const isTaught = table === opponent.taught;
  Object.assign($("teach-it"), { textContent: isTaught ? "You teach it" : "Teach it", disabled: isTaught });
  drawCurve(learner.tables, learner.stageOf(table.games));
  drawMap(table);
}

function drawCurve(tables, at) {
  const { clientWidth: width, clientHeight: height } = $("curve");
  const last = tables.length - 1;
  const top = 16;
  const bottom = height - 26;
  // the thumb of the range input moves in equal steps, so stages are equally spaced on the axis
  const x = (i) => 11 + ((width - 22) * i) / Math.max(1, last);
  const y = (share) => top + (bottom - top) * (1 - share);
  const points = tables.map(({ mastery }, i) => `${x(i).toFixed(1)} ${y(mastery).toFixed(1)}`);
  const path = (to) => `M${points.slice(0, to + 1).join("L")}`;
  const across = (name, share) => makeSvg("path", { class: name, d: `M0 ${y(share)}H${width}` });
  const dot = (name, i, r) => makeSvg("circle", { class: name, cx: x(i), cy: y(tables[i].mastery), r });
  const anchor = (i) => (i === 0 ? "start" : i === last ? "end" : "middle");
  const stageWith = (games) => tables.findIndex((table) => table.games === games);
  const levels = Object.values(state.learner.levels()).map(stageWith);
  const marked = [0, 10, 100, 1000, tables[last].games].map(stageWith);
  const number = (i) =>
    makeSvg("text", { x: x(i), y: height - 6, "text-anchor": anchor(i) }, words.thousands(tables[i].games));
  $("curve-svg").setAttribute("viewBox", `0 0 ${width} ${height}`);
  $("curve-svg").replaceChildren(
    across("grid", 1),
    across("grid", 0.5),
    across("grid", 0),
    makeSvg("path", { class: "rest", d: path(last) }),
    makeSvg("path", { class: "area", d: `${path(at)}V${y(0)}H${x(0)}Z` }),
    makeSvg("path", { class: "line", d: path(at) }),
    ...levels.filter((i) => i >= 0).map((i) => dot("level", i, 4)),
    makeSvg("path", { class: "head", d: `M${x(at)} ${top - 8}V${y(0)}` }),
    dot("thumb", at, 9),
    makeSvg("text", { x: 0, y: y(1) - 4 }, "100 %"),
    makeSvg("text", { x: 0, y: y(0.5) - 4 }, "50 %"),
    ...marked.filter((i) => i >= 0).map(number),
  );
}

/** A square for each position that can be won, in columns by the number of blocks left. */
function drawMap(table) {
  const { positions } = table;
  const won = [...positions.wins.keys()];
  const isMapped = won.length > 0 && won.length <= MAX_MAPPED;
  $("charts").classList.toggle("unmapped", !isMapped);
  if (!isMapped) return;
  const blocks = (position) => positions.heapsOf(position).reduce((sum, size) => sum + size, 0);
  const columns = Map.groupBy(won, blocks);
  let wrong = 0;
  const makeColumn = () => make("div");
  const makeSquare = () => make("i", { data: { do: "position" } });
  const ordered = [...columns.keys()].sort((one, other) => one - other).map((n) => columns.get(n));
  style($("map"), { "--rows": Math.ceil(Math.max(...ordered.map(({ length }) => length)) / 2) });
  sync($("map"), ordered, makeColumn, (node, column) =>
    sync(node, column, makeSquare, (square, position) => {
      const right = table.rightIn(position);
      wrong += right < 1;
      square.dataset.value = position;
      square.className = right < 0.5 ? "minus" : "";
      square.title = `${positions.heapsOf(position).join("-")}: ${words.percent(right)}`;
      style(square, { "--v": `${Math.round(Math.abs(200 * right - 100))}%` });
    }),
  );
  $("map-hint").textContent = words.mapText(won.length, wrong);
  $("play-wrong").disabled = !wrong;
}

/** A position of the map that can go wrong. */
export function wrongPosition() {
  const { positions } = shownTable();
  const wrong = [...positions.wins.keys()].filter((position) => shownTable().rightIn(position) < 1);
  return drawn(wrong);
}
