// The three panels, "Moves", "Teach me" and "Watch it learn", and the replay below the board.

import { $, make } from "./dom.js";
import { thousands } from "./game.js";
import { after, isOver, lessonOf, limit, nameOf, singlesOf } from "./rules.js";
import { S, gamesOf, isFriend, levelOf, names, shownPly } from "./state.js";

export function drawPanel() {
  document.body.dataset.panel = S.panel ?? "";
  for (const button of document.querySelectorAll("#rail button")) {
    button.setAttribute("aria-pressed", String(button.dataset.value === S.panel));
  }
  $("panel").hidden = !S.panel;
  for (const name of ["moves", "teach", "learn"]) $(`tab-${name}`).hidden = S.panel !== name;
  ({ moves: drawMoves, teach: drawTeach, learn: drawLearn })[S.panel]?.();
}

// --- Moves and replay -------------------------------------------------------------------------------

const RATINGS = { wins: ["✓", "a winning move"], mistake: ["✗", "a win was possible"], none: ["", ""] };

function drawMoves() {
  const { game } = S, isEnd = game.winner !== null, flag = game.decisive, hasFocus = $("moves").contains(document.activeElement);
  $("moves-hint").textContent = game.moves.length ? "Click a move to see the position after it."
    : "No moves yet. They will be listed here.";
  $("moves").replaceChildren(...game.moves.map(({ heap, count, rating }, ply) => {
    const player = game.playerAt(ply), [mark, title] = isEnd ? RATINGS[rating] : ["", ""];
    const attrs = { "aria-current": S.view === ply + 1 ? "step" : "false" }, isFlag = ply === flag;
    return make("li", {}, make("button", { className: `move p${player}`, data: { do: "view", value: ply + 1 }, attrs },
      make("span", { className: "no", textContent: ply + 1 }), make("i", { className: "mark" }),
      make("b", { textContent: names()[player] }), make("span", { textContent: `took ${count} from ${nameOf(heap)}` }),
      make("span", { className: `rating ${rating}${isFlag ? " flag" : ""}`, textContent: isFlag ? "⚑ gave the win away" : mark, title })));
  }));
  if (hasFocus) $("moves").querySelector("[aria-current=step]")?.focus();
}

export function drawReplay() {
  const { game } = S, n = game.moves.length, ply = shownPly(), flag = game.decisive;
  const isOpen = S.view !== null || game.winner !== null;
  $("replay").hidden = !isOpen;
  $("actions").hidden = isOpen;
  if (!isOpen) return;
  $("ply").max = n;
  $("ply").value = ply;
  $("ply").setAttribute("aria-valuetext", `${S.view === null ? "End. " : ""}${$("say").textContent}. ${$("how").textContent}`);
  $("ticks").classList.toggle("many", n > $("ticks").clientWidth / 24);
  $("ticks").replaceChildren(...Array.from({ length: n + 1 }, (_, i) =>
    make("i", {
      className: `tick ${i ? `p${game.playerAt(i - 1)}` : "start"}${i === ply ? " here" : ""}${flag >= 0 && i - 1 === flag ? " flag" : ""}`,
      style: { "--at": n ? i / n : 0 },
    }, make("span", { className: "mark" }))));
  $("prev").disabled = ply === 0;
  $("next").disabled = ply === n;
}

// --- Teach me ---------------------------------------------------------------------------------------

const oddSingles = (rules) => (rules.max ? "no remainder above 1, and an odd number of heaps with remainder 1"
  : "only single blocks, an odd number of them");
const EVEN = "Every column is even. The opponent must make one odd.", ODD = "A column is odd. The opponent can make all even.";

export function drawTeach() {
  const { game, chosen } = S, { rules } = game, here = game.heapsAt(shownPly());
  const heaps = chosen ? after(here, chosen) : here, lesson = lessonOf(heaps, rules);
  $("bits-wrap").replaceChildren(digitTable(heaps, lesson));
  const [verdict, kind] = verdictOf(here, heaps, lesson);
  $("verdict").textContent = verdict;
  $("verdict").className = kind;
  $("lesson").textContent = chosen ? aboutChosen(heaps, lesson) : $("show-move").checked || !lesson.move ? lesson.text
    : lesson.isException ? `The misère exception. Which take leaves ${oddSingles(rules)}?`
    : "Choose blocks and watch the bottom row. Which take makes every column even?";
  const { max } = rules, sizes = digitsOf(rules).join(", ").replace(/, (\d+)$/, " and $1");
  const first = max ? `Set groups of ${max + 1} aside: if one player takes a part of one, the other can take its rest. Cut what is left` : "Cut each heap";
  $("why-groups").textContent = `${first} into groups of ${sizes}, as the digits say. `
    + "If every kind of group occurs an even number of times, the groups form pairs.";
  $("why-end").textContent = rules.misere
    ? `If the last block loses, play the same way until your move would leave ${max ? "no remainder above 1" : "only single blocks"}. `
      + `Then leave an odd number of ${singlesOf(rules)}.`
    : "The last block wins here, so this is all there is to know.";
}

function aboutChosen(heaps, lesson) {
  if (isOver(heaps)) return "This takes the last block.";
  if (!lesson.isException) return lesson.sum ? ODD : EVEN;
  return `The misère exception: leave ${oddSingles(S.game.rules)}.`;
}

function verdictOf(here, heaps, lesson) {
  const { game, chosen } = S;
  if (game.winner !== null && S.view === null) return ["The game is over. Step back to study it.", ""];
  if (chosen) {
    const isGood = isOver(heaps) ? !game.rules.misere : !lesson.isWon;
    if (isGood) return ["✓ This move keeps the win.", "good"];
    return lessonOf(here, game.rules).isWon ? ["✗ This move gives the win away.", "bad"] : ["No move wins from here.", ""];
  }
  if (!lesson.isWon) return ["You are behind: no move wins by force.", "bad"];
  return [game.playerAt(shownPly()) === 0 || isFriend() ? "✓ You can win from here." : "The opponent can win from here.", "good"];
}

/** The columns of the table: 4, 2 and 1 for heaps of up to 7. */
function digitsOf(rules) {
  const digits = [], most = Math.max(...rules.heaps.map((size) => limit(size, rules)));
  for (let digit = 1; digit <= most; digit *= 2) digits.unshift(digit);
  return digits;
}

function digitTable(heaps, { values, sum, isException }) {
  const { game: { rules }, chosen } = S, digits = digitsOf(rules);
  const cell = (tag, className, textContent) => make(tag, { className, textContent });
  const oddity = (digit) => (sum & digit ? "odd" : "even");
  const head = make("tr", {}, cell("th", "left", "Heap"), cell("td", "", ""), ...digits.map((digit) => cell("th", oddity(digit), digit)));
  const rows = heaps.map((size, heap) => make("tr", { className: chosen?.heap === heap ? "changed" : size ? "" : "gone" },
    cell("th", "left", nameOf(heap)), cell("td", "size", size === values[heap] ? size : `${size} → ${values[heap]}`),
    ...digits.map((digit) => {
      const bit = values[heap] & digit ? 1 : 0;
      return make("td", { className: `bit ${bit ? "one" : "zero"} ${oddity(digit)}` }, cell("span", "", bit));
    })));
  const foot = make("tr", {}, make("th", { className: "left", colSpan: 2, textContent: "Ones" }),
    ...digits.map((digit) => make("td", { className: oddity(digit) }, cell("span", "", oddity(digit)))));
  const caption = chosen ? `If you take ${chosen.count} from ${nameOf(chosen.heap)}`
    : rules.max ? `What is left of each heap after groups of ${rules.max + 1}` : "The heaps in binary";
  return make("table", { className: `bits${isException ? " exception" : ""}${heaps.length > 6 ? " dense" : ""}` },
    cell("caption", "", caption), make("thead", {}, head), make("tbody", {}, ...rows), make("tfoot", {}, foot));
}

// --- Watch it learn ---------------------------------------------------------------------------------

/** Only exactly 1 is 100 %. */
function percent(share) {
  if (share === 1) return "100 %";
  return share > 0.99 ? `${Math.min(99.9, 100 * share).toFixed(1)} %` : `${Math.round(100 * share)} %`;
}

export function drawLearn() {
  const { learner } = S, own = levelOf(S.level)?.table, at = learner.stageOf(S.games);
  $("learn-intro").textContent = own ? `${levelOf(S.level).name} is yours. It does not learn here.`
    : learner.isSmall ? "It plays against itself. It is told only who won."
    : `This board has too many positions for a table.${S.game.rules.max ? "" : " A network of 873 weights, trained on boards of "
      + "up to 5 heaps, plays it perfectly, and that is proven. It is in the menu."}`;
  $("learn-figures").hidden = !learner.isSmall || Boolean(own);
  $("learn-values").hidden = !learner.isSmall && !own;
  $("learn-hint").textContent = own?.kind === "probability"
    ? `A number on a block is the probability with which ${levelOf(S.level).name} takes this block and all above.`
    : `A number on a block is what ${own ? levelOf(S.level).name : "it"} expects if a move takes this block and all above: `
      + "+1 won, −1 lost, ? never tried. A ring marks its move."
      + (own ? "" : " Mastery: the share of all winning positions in which it makes a winning move, counted, not sampled.");
  if (!learner.isSmall || own || at < 0) return;
  const games = learner.stages[at], mastery = percent(learner.mastery[at]);
  $("games").max = learner.stages.length - 1;
  $("games").value = at;
  $("games").setAttribute("aria-valuetext", `${thousands(games)} games, mastery ${mastery}`);
  $("n-games").textContent = thousands(games);
  $("n-mastery").textContent = mastery;
  const isIt = gamesOf(S.level) === games;
  $("play-it").textContent = isIt ? "You play this one" : `Play it at ${thousands(games)}`;
  $("play-it").disabled = isIt;
  drawCurve(at);
}

function drawCurve(at) {
  const { clientWidth: width, clientHeight: height } = $("curve"), { stages, mastery, levels } = S.learner;
  const left = 11, right = width - 11, top = 16, bottom = height - 26;
  // the thumb of the range input moves in equal steps, so stages are equally spaced on the axis
  const x = (i) => left + ((right - left) * i) / Math.max(1, stages.length - 1), y = (share) => top + (bottom - top) * (1 - share);
  const path = (to) => mastery.slice(0, to + 1).map((share, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(share).toFixed(1)}`).join("");
  const last = stages.at(-1), shown = [0, 10, 100, 1000, last].map((games) => [stages.indexOf(games), games]).filter(([i]) => i >= 0);
  const anchor = (i) => (i === 0 ? "start" : i === stages.length - 1 ? "end" : "middle");
  const texts = shown.map(([i, games]) => `<text x="${x(i)}" y="${height - 6}" text-anchor="${anchor(i)}">${thousands(games)}</text>`);
  const dots = Object.values(levels.call(S.learner)).map((games) => stages.indexOf(games)).filter((i) => i >= 0)
    .map((i) => `<circle class="level" cx="${x(i)}" cy="${y(mastery[i])}" r="4"/>`);
  const line = (name, share) => `<line class="${name}" x1="0" x2="${width}" y1="${y(share)}" y2="${y(share)}"/>`;
  $("curve-svg").setAttribute("viewBox", `0 0 ${width} ${height}`);
  $("curve-svg").innerHTML = `${line("grid", 1)}${line("grid", 0.5)}${line("axis", 0)}
    <text x="0" y="${y(1) - 4}">100 %</text><text x="0" y="${y(0.5) - 4}">50 %</text>${texts.join("")}
    <path class="rest" d="${path(stages.length - 1)}"/>
    <path class="area" d="${path(at)}L${x(at)} ${y(0)}L${x(0)} ${y(0)}Z"/><path class="line" d="${path(at)}"/>${dots.join("")}
    <line class="head" x1="${x(at)}" x2="${x(at)}" y1="${top - 8}" y2="${y(0)}"/>
    <circle class="thumb" cx="${x(at)}" cy="${y(mastery[at])}" r="9"/>`;
}
