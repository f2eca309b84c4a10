// The rules of Nim and the theorem that solves it, as nim_env.rules and nim_env.theory.
// A game is {heaps, max, misere}: the starting sizes, the most blocks of one move or null, and whether the player
// who takes the last block loses. A position is an array of sizes, a move {heap, count}.

export const isOver = (heaps) => heaps.every((size) => size === 0);
export const after = (heaps, { heap, count }) => heaps.map((size, i) => (i === heap ? size - count : size));
export const limit = (size, rules) => Math.min(size, rules.max ?? size);
export const isSame = (one, other) => one.heap === other.heap && one.count === other.count;

/** The legal moves, heap by heap, the counts rising. */
export function legalMoves(heaps, rules) {
  const moves = [];
  heaps.forEach((size, heap) => {
    for (let count = 1; count <= limit(size, rules); count++) moves.push({ heap, count });
  });
  return moves;
}

export const grundy = (size, rules) => (rules.max ? size % (rules.max + 1) : size);
export const nimSum = (heaps, rules) => heaps.reduce((sum, size) => sum ^ grundy(size, rules), 0);

/** Whether the player to move wins under perfect play (Bouton 1901; misère: Winning Ways, chapter 13). */
export function isWinning(heaps, rules) {
  const sum = nimSum(heaps, rules), hasLarge = heaps.some((size) => grundy(size, rules) >= 2);
  return rules.misere && !hasLarge ? sum !== 1 : sum !== 0;
}

// The empty position is lost in normal play and won in misère play, so it needs no separate case.
export const winningMoves = (heaps, rules) =>
  legalMoves(heaps, rules).filter((move) => !isWinning(after(heaps, move), rules));

/** "wins", "mistake" (a win was possible) or "none" (no move wins). */
export function rate(heaps, move, rules) {
  const wins = winningMoves(heaps, rules);
  if (!wins.length) return "none";
  return wins.some((win) => isSame(win, move)) ? "wins" : "mistake";
}

// --- What "Teach me" says ---------------------------------------------------------------------------

export const nameOf = (heap) => String.fromCharCode(65 + heap);

/** The group that the n-th block from below is in: 7 = 4 + 2 + 1, the largest at the bottom.
 * With a limit, whole groups of limit + 1 lie below, which do not count. */
export function groupOf(n, left, rules) {
  const whole = rules.max ? rules.max + 1 : 0, full = left - grundy(left, rules);
  if (n < full) return { size: whole, isFirst: n % whole === 0, isWhole: true };
  let from = full;
  for (let size = 32; size >= 1; size /= 2) {
    if (!((left - full) & size)) continue;
    if (n < from + size) return { size, isFirst: n === from, isWhole: false };
    from += size;
  }
}

/** The heaps that count in the misère exception, in words. */
export const singlesOf = (rules) => (rules.max ? "heaps with remainder 1" : "single blocks");

/** The digits of the heaps, the move to recommend, and the reason in words. */
export function lessonOf(heaps, rules) {
  const values = heaps.map((size) => grundy(size, rules)), sum = nimSum(heaps, rules);
  const large = values.filter((value) => value >= 2).length, singles = values.filter((value) => value === 1).length;
  const wins = isOver(heaps) ? [] : winningMoves(heaps, rules);
  const lowers = ({ heap, count }) => grundy(heaps[heap] - count, rules) < values[heap]; // it can be reversed else
  const move = wins.find(lowers) ?? wins[0];
  const take = move && `Take ${move.count} from ${nameOf(move.heap)}`;
  const to = move && `${heaps[move.heap]} becomes ${heaps[move.heap] - move.count}`;
  const isException = rules.misere && large <= 1 && !isOver(heaps), whole = rules.max + 1;
  const odd = [32, 16, 8, 4, 2, 1].filter((digit) => sum & digit);
  let text;
  if (isOver(heaps)) text = "The game is over.";
  else if (isException && large === 1) {
    const heap = nameOf(values.findIndex((value) => value >= 2)), than = rules.max ? "a remainder of 1" : "1 block";
    text = `The misère exception: only heap ${heap} has more than ${than}. Do not make the columns even. `
      + `Leave an odd number of ${singlesOf(rules)}. ${take}: ${to}.`;
  } else if (isException && rules.max) {
    text = move ? `The misère exception: leave an odd number of heaps with remainder 1. ${take}.`
      : "An odd number of heaps with remainder 1 is left. The last block will be yours.";
  } else if (isException) {
    text = move ? "Only single blocks are left, an even number. Take one: the opponent gets the last."
      : singles === 1 ? "One block is left, and it is yours. The game is lost."
      : "An odd number of single blocks is left. The last one will be yours.";
  } else if (heaps.length === 1 && rules.max) {
    text = move
      ? `${take}: ${to}, a multiple of ${whole}. Whatever the opponent takes, you can make it a multiple of ${whole} again.`
      : `${heaps[0]} is a multiple of ${whole}. The opponent can answer every take. Take 1 and hope for a mistake.`;
  } else if (move) {
    const columns = odd.length === 1 ? `Column ${odd[0]} is odd.`
      : `Columns ${odd.slice(0, -1).join(", ")} and ${odd.at(-1)} are odd.`;
    text = `${columns} ${take}: ${to}, and every column is even.`;
  } else {
    text = "Every column is even. Whatever you take makes a column odd, and the opponent can make it even again. "
      + "Take one block and hope for a mistake.";
  }
  return { values, sum, move, text, isException, isWon: wins.length > 0 };
}
