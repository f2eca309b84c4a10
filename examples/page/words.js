// The sentences that do not depend on the state.

import { analyze, isLimited, nameOf } from "./rules.js";

export const thousands = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ","); // toLocaleString costs a frame at first
export const plural = (n, word) => `${thousands(n)} ${word}${n === 1 ? "" : "s"}`;
export const wordsOf = ({ heap, count }) => `${count} from ${nameOf(heap)}`;
export const goal = ({ misere }) => `Whoever takes the last block ${misere ? "loses" : "wins"}.`;
export const betterText = (moves) => `Better: ${moves.slice(0, 3).map(wordsOf).join(" or ")}.`;
const listed = (words) => words.join(", ").replace(/, ([^,]+)$/, " and $1");

/** Only exactly 1 is 100%. */
export function percent(share) {
  const isNear = share > 0.99 && share < 1;
  return `${isNear ? Math.min(99.9, 100 * share).toFixed(1) : Math.round(100 * share)}%`;
}

export function signed(value, digits = 2) {
  const text = Math.abs(value).toFixed(digits);
  return Number(text) === 0 ? text : (value < 0 ? "−" : "+") + text;
}

export const SAY = {
  nextGame: "From the next game on.",
  settled: "No value changes any more.",
  copied: "Link copied.",
  copyBy: "Copy the address of this page.",
  network: "The network could not be loaded.",
  noLimit: "The network knows only games without a limit on a move.",
  tooBig: "Too many positions for a table.",
  wrongBoard: "This player knows another board.",
  damaged: "The file of your players is damaged.",
};
export const replaced = (name, reason) => `${SAY[reason]} The expert plays instead of ${name}.`;
export const brokenLink = (why) => `This link is broken. ${why} Here is the first board.`;
export const failureOf = ({ message }) => (message === "network" ? SAY.network : `A fault of this page: ${message}`);

export const BAD = {
  nobody: "It names an opponent that is not here.",
  part: (key, text) => `“${key}=${text.slice(0, 20)}” does not fit.`,
  noHeaps: "Write the size of each heap, such as 1 3 5 7.",
  size: (text) => `“${text.slice(0, 20)}” is not a number. Write sizes such as 1 3 5 7.`,
  zero: "A heap needs at least 1 block. Leave the 0 out.",
  manyHeaps: (most, n) => `At most ${most} heaps fit. You wrote ${n}.`,
  manyBlocks: (most, n) => `A heap can have at most ${most} blocks. You wrote ${thousands(n)}.`,
  limit: "Write a whole number from 1 on, or leave it empty.",
};

const singlesOf = (board) => (isLimited(board) ? "heaps with remainder 1" : "heaps of one");
const isOneHeap = (board) => board.heaps.length === 1 && isLimited(board);
const changed = (heaps, { heap, count }) => `${heaps[heap]} becomes ${heaps[heap] - count}`;

function digitsOf({ heaps, max }) {
  const most = Math.min(Math.max(...heaps), max);
  return [32, 16, 8, 4, 2, 1].filter((digit) => digit <= most);
}

export function lessonText(heaps, board, { values, sum, large, isException, move }) {
  const whole = board.max + 1;
  const take = move && `Take ${wordsOf(move)}`;
  if (isException && large === 1) {
    const than = isLimited(board) ? "a remainder of 1" : "1 block";
    const heap = nameOf(values.findIndex((value) => value >= 2));
    return `Only heap ${heap} has more than ${than}. ${take}, and leave an odd number of ${singlesOf(board)}.`;
  }
  if (isException && move) return `The number of ${singlesOf(board)} is even. ${take}, and leave an odd number.`;
  const end = isLimited(board) ? "Take 1 and hope for a mistake." : "The last block will be yours.";
  if (isException) return `An odd number of ${singlesOf(board)} is left. ${end}`;
  if (isOneHeap(board)) {
    if (!move) return `${heaps[0]} is a multiple of ${whole}. Take 1 and hope for a mistake.`;
    return `${take}: ${changed(heaps, move)}, a multiple of ${whole}. After each reply, make it one again.`;
  }
  if (!move) return "Every group has a partner. Any move leaves one alone. Take 1 and hope for a mistake.";
  if (board.heaps.length === 2 && !isLimited(board)) return `${take}. Then the heaps are equal.`;
  const odd = digitsOf(board).filter((digit) => sum & digit);
  const alone = listed(odd.map((digit, i) => `${i ? "one" : "One"} ${digit}`));
  return `${alone} ${odd.length === 1 ? "has" : "have"} no partner. ${take}: ${changed(heaps, move)}, and every group has a partner.`;
}

export function hintText(heaps, board, lesson) {
  if (!lesson.move) return "";
  const small = isLimited(board) ? "no remainder above 1" : "only heaps of one";
  if (lesson.isException) return `Which move leaves ${small}, and an odd number of ${singlesOf(board)}?`;
  return `Which move leaves ${isOneHeap(board) ? `a multiple of ${board.max + 1}` : "every group with a partner"}?`;
}

export function legendText(board) {
  const aside = isLimited(board) ? `Groups of ${board.max + 1} do not count. ` : "";
  return `The numbers on the blocks are groups of ${listed(digitsOf(board))}. ${aside}A ring marks one without a partner.`;
}

export function whyTexts(board) {
  if (isOneHeap(board)) return oneHeapTexts(board);
  const isCut = isLimited(board);
  const aside = `Set groups of ${board.max + 1} aside: who takes a part of one can be answered by its rest. `;
  const cut = `${isCut ? `${aside}Cut what is left` : "Cut each heap"} into groups of ${listed(digitsOf(board))}`;
  const until = isCut ? "no remainder above 1" : "only heaps of one";
  return [
    `${cut}, the largest first. Two groups of one size are partners.`,
    "Every move breaks a pair or takes from a group that has no partner. If all have partners, the other player can make " +
      "pairs again, so whoever leaves pairs takes the last block.",
    board.misere
      ? `If the last block loses, play the same way until your move would leave ${until}. Then leave an odd number of ${singlesOf(board)}.`
      : "The last block wins here, so this is all there is to know.",
  ];
}

function oneHeapTexts({ max, misere }) {
  const whole = max + 1;
  const left = misere ? `1 more than a multiple of ${whole}` : `a multiple of ${whole}`;
  const end = misere ? "in the end the last block is left to the other player" : "in the end you take the last block";
  return [`Leave ${left}. Whatever the other player takes, 1 to ${max}, take what is missing to ${whole}: ${end}.`];
}

export const RATINGS = { wins: ["✓", "a winning move"], mistake: ["✗", "a win was possible"], none: ["", ""] };

export function heapLabel(left, count, value) {
  if (!left) return "empty";
  if (!count) return `${plural(left, "block")}, none chosen`;
  return `take ${count}, leave ${left - count}${value ? `, value ${value}` : ""}`;
}

export function taughtText({ move, from, to }, hasWon) {
  const trust = to < from ? "less" : to > from ? "more" : "as before";
  return `It ${hasWon ? "won" : "lost"}. It now trusts ${wordsOf(move)} ${trust}: ${signed(from)} → ${signed(to)}.`;
}

const RIVAL_NAMES = { random: "a random player", expert: "the expert" };
const RIVAL_NOTES = { "take-3": ", which always takes 3 if it can,", expert: ", which never makes a mistake," };
export const rivalName = (rival) => RIVAL_NAMES[rival] ?? rival;
export const learnIntro = (rival) =>
  `A learner plays against ${rivalName(rival)}${RIVAL_NOTES[rival] ?? ""} and is told only who won.`;
export const trainedText = (games, rival) =>
  plural(games, "game") + (rival === "itself" ? "" : `, ${rivalName(rival)}`);

export const settingsText = ({ rate, exploration }) =>
  `A value moves ${percent(rate)} of the way to what the game showed, and ${percent(exploration)} of the moves are random.`;

/** Nobody wins more than half of the games against the expert. */
export function findingText(rival, wins, winsExpert) {
  const often = wins === 1 ? "every time" : `in ${percent(wins)} of the games`;
  const lost = `loses ${percent(1 - winsExpert)} of its games to the expert`;
  const against = `It ${winsExpert === 0.5 ? "wins every game that it can win against the expert" : lost}.`;
  return ["itself", "expert"].includes(rival) ? against : `It beats ${rivalName(rival)} ${often}. ${against}`;
}

export function watchedText({ table, move, answer, from, target, to, next }, rival) {
  const say = `Game ${thousands(table.games)}: it takes ${wordsOf(move)}`;
  const reply = rival === "itself" ? "best reply" : "reply";
  const end = `It ${target > 0 ? "won" : "lost"}`;
  const seen = next ? `The ${reply}, ${wordsOf(answer)}, leaves it ${signed(target)}` : end;
  return { say, how: `It expected ${signed(from)}. ${seen}. So now ${signed(to)}.` };
}

export function pythonText({ heaps, max, misere }, { rival }, games) {
  const rules = `heaps=[${heaps.join(", ")}], max_take=${isLimited({ heaps, max }) ? max : "None"}`;
  const opponent = `misere=${misere ? "True" : "False"}, opponent=${rival === "itself" ? "None" : `"${rival}"`}`;
  return `agents.train(agent, gym.make("nim_env:Nim-v0", ${rules}, ${opponent}), ${games})`;
}

export const networkText = "A network of 873 weights plays it perfectly, which is proven.";
export const valuesText = "A number is what it expects from taking this block and all above it.";
export function keyText(name, values, games) {
  const isUntried = ([, value]) => value === null;
  if (!values.every(isUntried))
    return `${name}: +1 win, −1 loss, ★ its move${values.some(isUntried) ? ", ? untried" : ""}`;
  return games > 0 ? "It never had to move here: no values." : "It has no values yet. Press Train.";
}
export const probabilitiesText = (name) =>
  `A number is the probability with which ${name} takes this block and all above it.`;
export const allLose = "No move wins from here against perfect play. ";
/** By how often the learner's move wins. */
export const puzzleText = (right) =>
  ["★, the learner’s move, is a mistake.", "★, the learner’s move, wins."][right] ?? "The learner can go wrong here.";
export const nearText = ({ board, start }) => ({
  say: `You can win from ${start.join("-")}.`,
  how: `${wordsOf(analyze(start, board).move)} wins. Starting ${board.heaps.join("-")} loses.`,
});

export function mapText(number, wrong) {
  const cells = "Each cell is a winning position, the fewest blocks on the left.";
  if (!wrong) return `${cells} It plays a winning move in all ${number}.`;
  return `${cells} In ${wrong} of ${number}, the pale and red ones, it can make a mistake.`;
}
