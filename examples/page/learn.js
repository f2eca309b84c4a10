import { shownValues } from "./board.js";
import { $, make, makeSvg, style, sync } from "./dom.js";
import { EXPLORATIONS, RATES, RIVALS, drawn } from "./learner.js";
import { isWinning } from "./rules.js";
import { NETWORK } from "./players.js";
import { shownGames, shownHeaps, shownLearner, shownTable, state, trainee } from "./state.js";
import * as words from "./words.js";

const STEP = 220; // milliseconds
const MAX_MAPPED = 1000;

export function startTraining(show) {
  Object.assign(state, { training: {}, watched: null, games: trainText() === "Continue" ? shownGames() : 0 });
  showNext(state.training, show);
  $("curve").scrollIntoView({ block: "nearest" });
}

function showNext(training, show) {
  if (training !== state.training) return;
  const learner = trainee();
  const next = learner.tables[learner.stageOf(shownGames()) + 1];
  if (next) state.games = next.games;
  else if (learner.isTrained) state.training = null;
  show();
  if (state.training) setTimeout(() => showNext(training, show), STEP);
  else $("finding").scrollIntoView({ block: "nearest" });
}

export function showStage(stage) {
  const { tables } = trainee();
  Object.assign(state, { games: tables[Math.min(stage, tables.length - 1)].games });
  stopShow();
}

export const stopShow = () => Object.assign(state, { training: null, watched: null });

export function drawLearn() {
  const { learner, opponent, game, settings } = state;
  const table = shownTable();
  const isOwn = Boolean(opponent.table);
  const hasLearner = learner.isSmall && !isOwn;
  const hasNetwork = !learner.isSmall && !isOwn && !NETWORK.why(learner);
  let intro = hasLearner ? words.learnIntro(settings.rival) : words.SAY.tooBig;
  if (hasNetwork) intro = words.networkText;
  if (isOwn) intro = `${opponent.name} is yours. It does not learn here.`;
  $("learn-intro").textContent = hasLearner && shownGames() > 0 ? "" : intro;
  $("let-network").hidden = !hasNetwork || opponent === NETWORK;
  $("runs").hidden = $("learn-figures").hidden = !hasLearner || !table;
  $("learn-hint").hidden = !hasLearner && !isOwn;
  const heaps = shownHeaps();
  const isLost = !isOwn && !state.watched && heaps.some(Boolean) && !isWinning(heaps, game.board);
  const values = shownValues(heaps);
  const isPolicy = isOwn && !opponent.values;
  const said = isPolicy ? words.probabilitiesText(opponent.name) : words.valuesText;
  const name = state.games === null && (isOwn || opponent.games) ? opponent.name : "Learner";
  $("key").textContent = isPolicy || !values.length ? "" : words.keyText(name, values, shownGames());
  $("learn-hint").textContent = (isLost ? words.allLose : "") + said;
  $("same").hidden = !hasLearner;
  if (hasLearner && table) drawFigures(table);
}

function trainText() {
  const games = shownGames();
  if (state.training) return "Pause";
  if (games <= 0) return "Train";
  return games < trainee().plan.at(-1) ? "Continue" : "Again";
}

function drawSettings() {
  const { settings } = state;
  const choices = { rival: Object.keys(RIVALS), rate: RATES, exploration: EXPLORATIONS };
  for (const [name, values] of Object.entries(choices)) {
    const text = (value) => (name === "rival" ? `Against ${value}` : String(value));
    sync($(name), values, (value) => make("option", { value, textContent: text(value) }));
    $(name).value = settings[name];
  }
  $("settings-hint").textContent = words.settingsText(settings);
}

function findingOf(table) {
  const { rival } = state.settings;
  if (state.training || table.lessons || !table.games) return "";
  const wins = rival === "itself" ? null : table.winsAgainst(rival);
  return words.findingText(rival, wins, table.winsAgainst("expert"));
}

function drawFigures(table) {
  const { opponent, settings } = state;
  const learner = trainee();
  drawSettings();
  $("finding").textContent = findingOf(table);
  $("python").textContent = words.pythonText(state.game.board, settings, learner.plan.at(-1));
  const [games, word] = words.plural(table.games + (table.lessons ?? 0), "game").split(" ");
  $("n-games").textContent = games;
  $("games-word").textContent = word;
  $("n-mastery").textContent = words.percent(table.mastery);
  $("by-chance").hidden = table.games > 0;
  Object.assign($("games"), { max: learner.plan.length - 1, value: learner.stageOf(table.games) });
  $("games").setAttribute("aria-valuetext", `${words.plural(table.games, "game")}, ${words.percent(table.mastery)}`);
  $("train").textContent = trainText();
  $("teach-it").disabled = table === opponent.taught;
  $("play-it").hidden = $("teach-it").disabled || shownLearner() === opponent;
  drawCurve(learner, Number($("games").value));
  drawMap(table);
}

function drawCurve(learner, at) {
  const { tables, plan } = learner;
  const { clientWidth: width, clientHeight: height } = $("curve");
  const last = plan.length - 1; // before it is trained, so a slider that is held stays
  const seen = (learner.seen = Math.max(learner.seen, at));
  // stages are equally spaced, as the thumb of a range input moves
  const x = (i) => 11 + ((width - 22) * i) / last;
  const y = (share) => 16 + (height - 42) * (1 - share);
  const points = tables.map(({ mastery }, i) => `${x(i)} ${y(mastery)}`);
  const path = (to) => `M${points.slice(0, to + 1).join("L")}`;
  const grid = (share) => makeSvg("path", { class: "grid", d: `M0 ${y(share)}H${width}` });
  const label = (share) => makeSvg("text", { x: 0, y: y(share) - 4 }, words.percent(share));
  const anchor = (i) => (i < last ? "middle" : "end");
  const number = (i) => makeSvg("text", { x: x(i), y: height - 6, "text-anchor": anchor(i) }, words.thousands(plan[i]));
  const marks = width > 200 ? [0, 10, 100, 1000, plan[last]] : [0, plan[last]];
  $("curve-svg").replaceChildren(
    ...[0, 0.5, 1].map(grid),
    makeSvg("path", { class: "rest", d: path(seen) }),
    makeSvg("path", { class: "area", d: `${path(at)}V${y(0)}H${x(0)}Z` }),
    makeSvg("path", { d: path(at) }),
    makeSvg("circle", { class: "thumb", cx: x(at), cy: y(tables[at].mastery), r: 9 }),
    ...[0.5, 1].map(label),
    ...marks.map((games) => number(plan.indexOf(games))),
  );
}

/** A cell for each position that can be won, in columns by the number of blocks left. */
function drawMap(table) {
  const { positions } = table;
  const won = [...positions.wins.keys()];
  const isMapped = won.length > 0 && won.length <= MAX_MAPPED;
  $("learn-figures").classList.toggle("unmapped", !isMapped);
  if (!isMapped) return;
  const blocks = (position) => positions.heapsOf(position).reduce((sum, size) => sum + size, 0);
  const columns = Map.groupBy(won, blocks);
  let wrong = 0;
  function drawCell(cell, position) {
    const right = table.rightIn(position);
    wrong += right < 1;
    cell.dataset.value = position;
    cell.className = right < 0.5 ? "minus" : "";
    cell.title = `${positions.heapsOf(position).join("-")}: ${words.percent(right)}`;
    style(cell, { "--v": `${Math.round(Math.abs(200 * right - 100))}%` });
  }
  const makeCell = () => make("i", { data: { do: "position" } });
  const ordered = [...columns.keys()].sort((one, other) => one - other).map((n) => columns.get(n));
  style($("map"), { "--rows": Math.ceil(Math.max(...ordered.map(({ length }) => length)) / 2) });
  const makeColumn = () => make("div");
  sync($("map"), ordered, makeColumn, (node, column) => sync(node, column, makeCell, drawCell));
  $("map-hint").textContent = words.mapText(won.length, wrong);
  $("play-wrong").hidden = !wrong || table.games <= 0;
}

export function wrongPosition() {
  const table = shownTable();
  const here = table.positions.indexOf(state.game.start);
  const others = [...table.positions.wins.keys()].filter((position) => position !== here);
  const least = Math.min(...others.map((position) => table.rightIn(position)));
  return least < 1 ? drawn(others.filter((position) => table.rightIn(position) === least)) : here;
}
