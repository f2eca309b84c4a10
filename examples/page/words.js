// All sentences of the page. A function gets the state or a part of it, and returns text.

import { thousands } from "./game.js";
import { nameOf } from "./rules.js";
import { S, isFilm, isFriend, isOpponent, isStopped, names, shownPly } from "./state.js";

export const wordsOf = ({ heap, count }) => `${count} from ${nameOf(heap)}`;
export const plural = (n, word) => `${thousands(n)} ${word}${n === 1 ? "" : "s"}`;
export const goal = ({ misere }) => `Whoever takes the last block ${misere ? "loses" : "wins"}.`;

// --- Messages ---------------------------------------------------------------------------------------

export const SAY = {
  nextGame: "From the next game on.",
  copied: "Link copied. It opens this position.",
  copyBy: "Copy the address of this page: it opens this position.",
  network: "The network could not be loaded.",
  noLimit: "The network has learned the game without a limit of a move.",
  tooBig: "This board has too many positions for a table.",
  wrongBoard: "This player knows another board.",
  damaged: "The file of your players is damaged.",
  isIt: "You play it",
  playIt: "Play it",
  allLose: "No move wins from here, so in the end all blocks are red. ",
  training: "It plays against itself …",
};
export const newGameSaid = () => (isFriend() ? "New game for two people." : `New game against ${names()[1]}.`);
export const replaced = (name, reason) => `${SAY[reason]} ${names()[1]} plays instead of ${name}.`;

/** What is wrong with a link or with a board. */
export const BAD = {
  nobody: "It names an opponent that is not here.",
  part: (key, text) => `“${text.slice(0, 20)}” does not fit “${key}”.`,
  move: (text) => `“${text.slice(0, 20)}” is no legal move there.`,
  noHeaps: "Write the size of each heap, such as 1 3 5 7.",
  size: (text) => `“${text.slice(0, 20)}” is not a number. Write sizes such as 1 3 5 7.`,
  zero: "A heap needs at least 1 block. Leave the 0 out.",
  manyHeaps: (most, n) => `At most ${most} heaps fit. You wrote ${n}.`,
  manyBlocks: (most, n) => `A heap can have at most ${most} blocks. You wrote ${thousands(n)}.`,
  limit: "Write a whole number, or leave it empty for any number.",
  least: "A move takes at least 1 block. Write 1 or more, or leave it empty.",
};
export const brokenLink = (why) => `This link is broken. ${why} Here is the first board.`;
export const failureOf = (error) => (error.message === "network" ? SAY.network : `A fault of this page: ${error.message}`);

// --- The status -------------------------------------------------------------------------------------

function howTo() {
  const { max } = S.game.rules, { isLying, columns } = S.layout ?? {}, { by } = S;
  if (S.chosen && S.isFirst && !max) {
    return { mouse: "Click to take them.", touch: "Tap Take, or the block again.", keys: "Enter takes them." }[by];
  }
  const top = `${isLying ? "last" : "top"} ${max}`;
  const rest = isLying ? "all to its right go" : columns === 1 ? "all above it go" : "the marked ones go";
  return {
    mouse: max ? `Click one of the ${top} blocks.` : `Click a block: it and ${rest}.`,
    touch: max ? `Tap one of the ${top}, then Take.` : `Tap a block: it and ${rest}.`,
    keys: max ? `Arrow keys choose 1 to ${max}, Enter takes.` : "Arrow keys choose, Enter takes.",
  }[by];
}

/** What the status says: the words, the player whose color it has, its kind, and its buttons [text, data-do, value]. */
export function statusOf(isLostStart) {
  const { game } = S, { winner, player, rules } = game, last = game.moves.at(-1), aim = goal(rules), { max } = rules;
  if (isFilm()) return { say: SAY.training, how: `A game after ${plural(S.games, "game")} of learning.`, player: 1 };
  if (S.failure) {
    const buttons = [["Try again", "retry"], ...(S.level === "perfect" ? [] : [["Play on against Perfect", "perfect"]])];
    return { say: S.failure, how: "", player, kind: "error", buttons };
  }
  if (S.view !== null) return pastStatus();
  if (winner !== null) return endStatus(winner);
  const name = names()[player];
  if (S.going && isOpponent(player)) return { say: `${name} takes ${wordsOf(S.going)} …`, how: "", aim, player };
  if (S.isBusy && isOpponent(player)) return { say: `${name} is choosing …`, how: "", aim, player };
  if (isStopped()) {
    const say = `${wordsOf(last)} gives the win away`;
    return { say, how: LESSONS[S.lesson].wrong, player: 0, kind: "error", buttons: [["Take it back", "undo"]] };
  }
  if (S.isTooMany) {
    return { say: `At most ${max} in one move`, how: `Choose one of the top ${max} blocks.`, aim, player, kind: "error" };
  }
  const told = last && !isFriend() ? `${names()[1]} took ${wordsOf(last)}. Your turn.` : "";
  if (S.isFirst && S.lesson === null && !isOpponent(player)) {
    const rule = `Take ${max ? `1 to ${max} blocks` : "as many blocks as you like"}, from one heap.`;
    return { say: told || rule, how: told ? rule : howTo(), aim, player };
  }
  const say = isFriend() ? `${name}’s turn` : told || "Your turn";
  return { say, how: howTo(), aim, player, buttons: isLostStart ? [LET_IT] : null };
}
const LET_IT = ["Let it start", "starts", "opponent"];

/** The number of a move among those of its player, and its name. */
export const turnOf = (ply) => Math.floor(ply / 2) + 1;
function moveName(ply) {
  const name = names()[S.game.playerAt(ply)];
  return `${name === "You" ? "Your" : `${name}’s`} move ${turnOf(ply)}`;
}

function endStatus(winner) {
  const { game } = S, flag = game.decisive, isLost = winner === 1 && !isFriend();
  const say = isFriend() ? `${names()[winner]} wins!` : winner === 0 ? "You win!" : "You lose.";
  const told = `${names()[game.playerAt(game.moves.length - 1)]} took the last block.`;
  const isClean = !game.moves.some(({ rating }, ply) => rating === "mistake" && game.playerAt(ply) === winner);
  const why = S.told ?? (isClean && !isLost ? `${names()[winner]} made no mistake.`
    : flag < 0 ? `${names()[winner]} could win from the start.` : `${moveName(flag)} gave the win away.`);
  const buttons = [
    ...(isLost && flag >= 0 ? [["Show my mistake", "view", flag]] : []),
    ...(isLost && flag < 0 && game.first === 0 && S.lesson === null ? [LET_IT] : []),
    ...(S.lesson !== null && winner === 0 && LESSONS[S.lesson + 1] ? [["Next lesson", "lesson", S.lesson + 1]] : []),
    ...(S.lesson === LESSONS.length - 1 && winner === 0 ? [["Play a whole game", "preset", 0]] : []),
    ...(S.next && winner === 0 && S.lesson === null ? [[`Next: ${S.next.name}`, "level", S.next.id]] : []),
    [S.lesson !== null ? "Again" : "Play again", "again"],
  ];
  return { say, how: `${told} ${why}`, player: winner, kind: S.hasWonNow ? "over won" : "over", buttons };
}

const betterText = ({ better }) =>
  `Better: ${better.slice(0, 3).map(wordsOf).join(" or ")}${better.length > 3 ? ", or others" : ""}.`;

/** A position of the past: which move led to it, and whether it was the mistake. */
function pastStatus() {
  const { game } = S, ply = shownPly(), flag = game.decisive, n = game.moves.length, isEnd = game.winner !== null;
  const player = ply ? game.playerAt(ply - 1) : game.first, isHere = flag >= 0 && ply === flag;
  const isIts = flag >= 0 && isOpponent(game.playerAt(flag));
  const again = ["Play again", "again"];
  if (isHere) {
    const say = `${moveName(flag)}: ${wordsOf(game.moves[flag])}`, how = betterText(game);
    const buttons = [...(isIts ? [] : [["Try again from here", "from-here", ply]]), again];
    return { say, aim: "It gave the win away.", how, player: game.playerAt(flag), kind: "past flagged", buttons };
  }
  const say = ply ? `${names()[player]} took ${wordsOf(game.moves[ply - 1])}` : `Start: ${names()[game.first]} to move`;
  const isAfter = flag >= 0 && ply === flag + 1, move = ply ? `After ${ply} of ${plural(n, "move")}.` : "";
  const buttons = isEnd ? [...(isAfter ? [["Show better", "view", flag]] : []), again]
    : [["Back to the game", "view", n], ["Play on from here", "from-here", ply]];
  const aim = isAfter ? "It gave the win away." : "", how = isAfter ? betterText(game) : move;
  return { say, how, aim, player, kind: isAfter ? "past flagged" : "past", buttons };
}

/** A heap for screen readers, and the button that takes. */
export const blockLabels = (left, count) => (count ? `take ${count}, leave ${left - count}`
  : left ? `${plural(left, "block")}, none chosen` : "empty");
export const takeLabel = (chosen, isYours) => (chosen ? `Take ${wordsOf(chosen)}` : isYours ? "Choose blocks" : "Wait …");

// --- Lessons ----------------------------------------------------------------------------------------

const UNEQUAL = "The heaps are unequal now.", SINGLE = "A group has no partner now.";
const normal = (...heaps) => ({ heaps, max: null, misere: false });

/** Small boards with one idea each. The player named by `first` starts: 0 is you. */
export const LESSONS = [
  { rules: normal(3, 3), first: 1, name: "Copy", hasGroups: false, wrong: UNEQUAL,
    text: "Here the last block wins. Two equal heaps: copy each move in the other heap, and you take the last block." },
  { rules: normal(2, 5), first: 0, name: "Make equal", hasGroups: false, wrong: UNEQUAL,
    text: "Two unequal heaps. Make them equal. Then copy." },
  { rules: normal(1, 2, 3), first: 1, name: "Pairs", wrong: SINGLE,
    text: "See 3 as 2 + 1. Then 1-2-3 has a pair of 2s and a pair of 1s. After each move, make pairs again." },
  { rules: normal(3, 4, 5), first: 0, name: "The odd group", wrong: SINGLE,
    text: "See 3 as 2 + 1, and 5 as 4 + 1. The 4s and the 1s have a partner, the 2 has none. Take it." },
  { rules: { heaps: [1, 1, 4], max: null, misere: true }, first: 0, name: "Last loses", hasGroups: false, wrong: "Now the other player can leave an odd number of heaps of one.",
    text: "Now the last block loses. When all other heaps have one block, leave an odd number of heaps of one." },
];
export const lessonName = (i) => `Lesson ${i + 1}`;

// --- Teach me ---------------------------------------------------------------------------------------

/** The heaps that count in the misère exception, in words. */
const singlesOf = (rules) => (rules.max ? "heaps with remainder 1" : "heaps of one");

/** The reason for the recommended move of a position, or why there is none. */
export function lessonText(heaps, rules, { values, sum, large, isEnd, isException, move }, isShort = false) {
  const whole = rules.max + 1, singles = values.filter((value) => value === 1).length;
  const take = move && `Take ${wordsOf(move)}`, to = move && `${heaps[move.heap]} becomes ${heaps[move.heap] - move.count}`;
  if (isEnd) return "The game is over.";
  if (isException && large === 1) {
    const heap = nameOf(values.findIndex((value) => value >= 2)), than = rules.max ? "a remainder of 1" : "1 block";
    return `Only heap ${heap} has more than ${than}. Leave an odd number of ${singlesOf(rules)}. ${take}: ${to}.`;
  }
  if (isException && move) return `${plural(singles, "heap")} of one: even. ${take}, and leave an odd number.`;
  if (isException && singles === 1 && !rules.max) return "One block is left, and it is yours.";
  if (isException) return "An odd number is left. The last block will be yours.";
  if (heaps.length === 1 && rules.max) {
    return move ? `${take}: ${to}, a multiple of ${whole}. After each reply, make it a multiple of ${whole} again.`
      : `${heaps[0]} is a multiple of ${whole}. Take 1 and hope for a mistake.`;
  }
  if (!move && isShort) return "";
  if (!move) return "In binary, every column is even. Any take makes one odd. Take one block and hope for a mistake.";
  if (isShort) return `${take}: ${to}.`;
  const odd = [32, 16, 8, 4, 2, 1].filter((digit) => sum & digit);
  const columns = odd.length === 1 ? `column ${odd[0]} is` : `columns ${odd.slice(0, -1).join(", ")} and ${odd.at(-1)} are`;
  return `In binary, ${columns} odd. ${take}: ${to}, and every column is even.`;
}

/** A question instead of the recommended move. */
export function hintText(heaps, rules, lesson) {
  if (!lesson.move) return lessonText(heaps, rules, lesson);
  const small = rules.max ? "no remainder above 1" : "only heaps of one";
  if (lesson.isException) return `Which take leaves ${small}, and an odd number of ${singlesOf(rules)}?`;
  return heaps.length === 1 && rules.max ? `Which take leaves a multiple of ${rules.max + 1}?`
    : "In binary, which take makes every column even?";
}

export function verdictOf(here, after, chosen) {
  const { game } = S, other = names()[1];
  if (game.winner !== null && S.view === null) return ["The game is over. Step back to study it.", ""];
  if (chosen) {
    const isGood = after.isEnd ? !game.rules.misere : !after.isWon;
    if (isGood) return ["✓ This move keeps the win.", "good"];
    return here.isWon ? ["✗ This move gives the win away.", "bad"] : ["No move wins from here.", ""];
  }
  const isYou = isFriend() || game.playerAt(shownPly()) === 0;
  if (!here.isWon) return [isYou ? "No move wins by force. Wait for a mistake." : `${other} cannot win by force.`, isYou ? "" : "good"];
  return [isYou ? "✓ You can win from here." : `${other} can win from here.`, "good"];
}

export const onesText = (values) => {
  const n = values.filter((value) => value === 1).length;
  const isOdd = n % 2 === 1 && values.every((value) => value < 2);
  return `Heaps of one: ${n}${isOdd ? ", an odd number" : " → leave an odd number"}`;
};
export const captionOf = (rules) => (S.chosen ? `If you take ${wordsOf(S.chosen)}`
  : rules.max ? `What is left of each heap after groups of ${rules.max + 1}` : "The heaps in binary");

export function whyTexts(rules, digits) {
  const sizes = digits.join(", ").replace(/, (\d+)$/, " and $1"), { max } = rules;
  const cut = max ? `Set groups of ${max + 1} aside: who takes a part of one can be answered by its rest. Cut what is left` : "Cut each heap";
  return [
    `${cut} into groups of ${sizes}, as the digits say. If every kind of group occurs an even number of times, they form pairs.`,
    "Every take from a pair breaks it. The other player can repair it, so whoever leaves pairs takes the last block.",
    rules.misere ? `If the last block loses, play the same way until your move would leave ${max ? "no remainder above 1" : "only heaps of one"}. `
      + `Then leave an odd number of ${singlesOf(rules)}.` : "The last block wins here, so this is all there is to know.",
  ];
}

// --- Moves, and Watch it learn ----------------------------------------------------------------------

export const RATINGS = { wins: ["✓", "a winning move"], mistake: ["✗", "a win was possible"], none: ["", ""] };
export const movesHint = (n) => (n ? "Choose a move to see the position after it." : "No moves yet. They will be listed here.");

/** Only exactly 1 is 100 %. */
export function percent(share) {
  if (share === 1) return "100 %";
  return share > 0.99 ? `${Math.min(99.9, 100 * share).toFixed(1)} %` : `${Math.round(100 * share)} %`;
}

export const signed = (value, digits = 2) => {
  const text = Math.abs(value).toFixed(digits);
  return Number(text) === 0 ? text : (value < 0 ? "−" : "+") + text;
};

/** What it has learned from your game. */
export function taughtText({ move, from, to }, hasWon) {
  const trust = to < from ? "less" : to > from ? "more" : "as before";
  return `It ${hasWon ? "won" : "lost"}. It now trusts ${wordsOf(move)} ${trust}: ${signed(from)} → ${signed(to)}.`;
}

export const learnIntro = (own, isSmall, hasNetwork) => (own ? `${own.name} is yours. It does not learn here.`
  : isSmall ? "It plays against itself. It is told only who won."
  : `${SAY.tooBig}${hasNetwork ? " A network of 873 weights, trained on boards of up to 5 heaps, plays it perfectly. That is proven." : ""}`);

export function valuesHint(own) {
  const name = own?.name ?? "it";
  if (own?.table.kind === "probability") return `A number is the probability with which ${name} takes this block and all above.`;
  return `What ${name} expects if a move takes this block and all above: blue wins (+1), red loses (−1), hatched: never tried. `
    + "The diamond marks its move."
    + (own ? "" : " Mastery is counted over all positions that can be won, not sampled; where it has several best moves, each counts its share.");
}
export const masteryText = "of the positions that can be won are played right (mastery)";

/** A level, below its name: what it is, or how long it has learned. */
export function noteOf(level, reason, games) {
  if (reason) return "not on this board";
  if (level.id === "pupil") return "learns from you";
  return level.note ?? (games === undefined ? "learning …" : `after ${plural(games, "game")}`);
}
