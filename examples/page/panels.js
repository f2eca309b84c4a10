// The three panels, "Moves", "Teach me" and "Watch it learn", and the replay below the board.

import { $, make, set, style, sync } from "./dom.js";
import { thousands } from "./game.js";
import { after, isWinning, lessonOf, limit, nameOf } from "./rules.js";
import { S, gamesOf, isStopped, levelOf, names, reasonAgainst, shownHeaps, shownPly } from "./state.js";
import { LESSONS, RATINGS, SAY, captionOf, hintText, learnIntro, lessonText, masteryText, movesHint,
  onesText, percent, plural, turnOf, valuesHint, verdictOf, whyTexts, wordsOf } from "./words.js";

export function drawPanel() {
  document.body.dataset.panel = S.panel ?? "";
  for (const button of $("rail").children) button.setAttribute("aria-pressed", String(button.dataset.value === S.panel));
  $("panel").hidden = !S.panel;
  for (const name of ["moves", "teach", "learn"]) $(`tab-${name}`).hidden = S.panel !== name;
  ({ moves: drawMoves, teach: drawTeach, learn: drawLearn })[S.panel]?.();
}

// --- Moves and replay -------------------------------------------------------------------------------

const makeMove = (_, ply) => make("li", {}, make("button", { data: { do: "view", value: ply + 1 } },
  make("span", { className: "no", textContent: turnOf(ply) }), make("i", { className: "mark" }), make("b"), make("span"), make("span")));

function drawMoves() {
  const { game } = S, isEnd = game.winner !== null, flag = game.decisive;
  $("moves-hint").textContent = movesHint(game.moves.length);
  sync($("moves"), game.moves, makeMove, (item, move, ply) => {
    const button = item.firstElementChild, [, , name, text, rating] = button.children, player = game.playerAt(ply);
    const [mark, title] = isEnd ? RATINGS[move.rating] : ["", ""];
    button.className = `move p${player}`;
    button.setAttribute("aria-current", S.view === ply + 1 ? "step" : "false");
    name.textContent = names()[player];
    text.textContent = `took ${wordsOf(move)}`;
    Object.assign(rating, { className: `rating ${move.rating}${ply === flag ? " flag" : ""}`, title,
      textContent: ply === flag ? "⚑ gave the win away" : mark });
  });
}

export function drawReplay() {
  const { game } = S, n = game.moves.length, ply = shownPly(), flag = game.decisive;
  const isOpen = S.view !== null || game.winner !== null;
  $("replay").hidden = !isOpen;
  $("actions").hidden = isOpen || isStopped();
  if (!isOpen) return;
  Object.assign($("ply"), { max: n, value: ply });
  $("ply").setAttribute("aria-valuetext", `${S.view === null ? "End. " : ""}${$("say").textContent}. ${$("how").textContent}`);
  $("ticks").classList.toggle("many", n > $("ticks").clientWidth / 24);
  sync($("ticks"), Array.from({ length: n + 1 }), () => make("i", {}, make("span", { className: "mark" })), (tick, _, i) => {
    const isFlag = flag >= 0 && i - 1 === flag;
    tick.className = `tick ${i ? `p${game.playerAt(i - 1)}` : "start"}${i === ply ? " here" : ""}${isFlag ? " flag" : ""}`;
    style(tick, { "--at": n ? i / n : 0 });
  });
  $("prev").disabled = ply === 0;
  $("next").disabled = ply === n;
}

// --- Teach me ---------------------------------------------------------------------------------------

export function drawTeach() {
  const { game } = S, isLesson = S.lesson !== null, chosen = isLesson ? null : S.chosen; // a lesson answers moves
  const { rules } = game, here = game.heapsAt(shownPly()), digits = digitsOf(rules);
  const heaps = chosen ? after(here, chosen) : here, lesson = lessonOf(heaps, rules);
  const [verdict, kind] = verdictOf(lessonOf(here, rules), lesson, chosen);
  drawLessons();
  Object.assign($("verdict"), { textContent: verdict, className: kind });
  const hint = isLesson ? "" : hintText(heaps, rules, lesson);
  $("lesson").textContent = chosen ? "" : S.showsMove ? lessonText(heaps, rules, lesson, isLesson) : hint;
  for (const id of ["digits", "reasons"]) $(id).hidden = isLesson;
  $("ones").textContent = lesson.isException && !rules.max ? onesText(lesson.values) : "";
  $("bits-wrap").hidden = lesson.isException && !rules.max;
  drawDigits(heaps, lesson, digits);
  whyTexts(rules, digits).forEach((text, i) => { $("why").children[i].textContent = text; });
}

function drawLessons() {
  $("lesson-text").textContent = S.lesson === null ? "" : LESSONS[S.lesson].text;
  $("lesson-text").hidden = S.lesson === null;
  const create = (_, value) => make("button", { data: { do: "lesson", value } });
  sync($("lessons"), LESSONS, create, (button, { name }, i) => {
    button.textContent = `${S.done.has(i) ? "✓" : i + 1} ${name}`;
    button.setAttribute("aria-pressed", String(S.lesson === i));
  });
}

/** The columns of the table: 4, 2 and 1 for heaps of up to 7. */
function digitsOf(rules) {
  const digits = [], most = Math.max(...rules.heaps.map((size) => limit(size, rules)));
  for (let digit = 1; digit <= most; digit *= 2) digits.unshift(digit);
  return digits;
}

function drawDigits(heaps, { values, sum }, digits) {
  const { game: { rules }, chosen } = S, cell = (tag, className, textContent) => make(tag, { className, textContent });
  const oddity = (digit) => (sum & digit ? "odd" : "even");
  const head = make("tr", {}, cell("th", "left", "Heap"), cell("td", "", ""), ...digits.map((digit) => cell("th", oddity(digit), digit)));
  const rows = heaps.map((size, heap) => make("tr", { className: chosen?.heap === heap ? "changed" : size ? "" : "gone" },
    cell("th", "left", nameOf(heap)), cell("td", "size", size === values[heap] ? size : `${size} → ${values[heap]}`),
    ...digits.map((digit) => {
      const bit = values[heap] & digit ? 1 : 0;
      return make("td", { className: `bit ${bit ? "one" : "zero"} ${oddity(digit)}` }, cell("span", "", bit));
    })));
  const foot = make("tr", {}, make("th", { className: "left", colSpan: 2, textContent: "Ones" }),
    ...digits.map((digit) => cell("td", oddity(digit), oddity(digit))));
  $("bits").className = heaps.length > 6 ? "dense" : "";
  $("bits").replaceChildren(cell("caption", "", captionOf(rules)), make("thead", {}, head), make("tbody", {}, ...rows), make("tfoot", {}, foot));
}

// --- Watch it learn ---------------------------------------------------------------------------------

export function drawLearn() {
  const { learner } = S, own = levelOf(S.level).table ? levelOf(S.level) : null, at = learner.stageOf(S.games);
  const hasNetwork = !reasonAgainst(levelOf("network")), isTable = learner.isSmall && !own;
  $("learn-intro").textContent = S.told ?? learnIntro(own, learner.isSmall, hasNetwork);
  $("learn-figures").hidden = !isTable;
  $("learn-values").hidden = !learner.isSmall && !own;
  const heaps = shownHeaps(), isLost = !own && !isWinning(heaps, learner.rules) && heaps.some(Boolean);
  $("learn-hint").textContent = (isLost ? SAY.allLose : "") + valuesHint(own);
  $("let-network").hidden = learner.isSmall || Boolean(own) || !hasNetwork || S.level === "network";
  if (!isTable || at < 0) return;
  const { taught } = learner, games = learner.stages[at];
  const mastery = taught ? learner.expertMastery(taught.table) : learner.mastery[at];
  Object.assign($("games"), { max: learner.stages.length - 1, value: at });
  $("games").setAttribute("aria-valuetext", `${plural(games, "game")}, ${percent(mastery)} ${masteryText}`);
  $("n-games").textContent = taught?.games ? `${thousands(games)} + ${taught.games}` : thousands(games);
  $("n-mastery").textContent = percent(mastery);
  $("games-word").textContent = games === 1 && !taught?.games ? " game" : " games";
  $("mastery-word").textContent = masteryText;
  const isIt = gamesOf(S.level) === games && S.level !== "pupil" && !taught;
  $("play-it").textContent = isIt ? SAY.isIt : SAY.playIt;
  $("play-it").disabled = isIt;
  $("teach-it").setAttribute("aria-pressed", String(S.level === "pupil"));
  set($("play-learning").querySelector("use"), { href: S.film ? "#i-pause" : "#i-play" });
  $("play-learning").lastElementChild.textContent = S.film ? "Pause" : "Train";
  drawCurve(at);
}

function drawCurve(at) {
  const { clientWidth: width, clientHeight: height } = $("curve"), { stages, mastery } = S.learner, last = stages.length - 1;
  const left = 11, right = width - 11, top = 16, bottom = height - 26;
  // the thumb of the range input moves in equal steps, so stages are equally spaced on the axis
  const x = (i) => left + ((right - left) * i) / Math.max(1, last), y = (share) => top + (bottom - top) * (1 - share);
  const path = (to) => mastery.slice(0, to + 1).map((share, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(share).toFixed(1)}`).join("");
  const shown = [0, 10, 100, 1000, stages[last]].map((games) => [stages.indexOf(games), games]).filter(([i]) => i >= 0);
  const anchor = (i) => (i === 0 ? "start" : i === last ? "end" : "middle");
  const texts = shown.map(([i, games]) => `<text x="${x(i)}" y="${height - 6}" text-anchor="${anchor(i)}">${thousands(games)}</text>`);
  const dots = Object.values(S.learner.levels()).map((games) => stages.indexOf(games)).filter((i) => i >= 0)
    .map((i) => `<circle class="level" cx="${x(i)}" cy="${y(mastery[i])}" r="4"/>`);
  const line = (name, share) => `<line class="${name}" x1="0" x2="${width}" y1="${y(share)}" y2="${y(share)}"/>`;
  $("curve-svg").setAttribute("viewBox", `0 0 ${width} ${height}`);
  $("curve-svg").innerHTML = `${line("grid", 1)}${line("grid", 0.5)}${line("axis", 0)}<path class="rest" d="${path(last)}"/>
    <path class="area" d="${path(at)}L${x(at)} ${y(0)}L${x(0)} ${y(0)}Z"/><path class="line" d="${path(at)}"/>${dots.join("")}
    <line class="head" x1="${x(at)}" x2="${x(at)}" y1="${top - 8}" y2="${y(0)}"/>
    <circle class="thumb" cx="${x(at)}" cy="${y(mastery[at])}" r="9"/>
    <text x="0" y="${y(1) - 4}">100 %</text><text x="0" y="${y(0.5) - 4}">50 %</text>${texts.join("")}`;
}
