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

const grundy = (size, rules) => (rules.max ? size % (rules.max + 1) : size);
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

/** What "Teach me" knows of a position: the remainders, their nim-sum, the move to recommend, the misère exception. */
export function lessonOf(heaps, rules) {
  const values = heaps.map((size) => grundy(size, rules)), sum = nimSum(heaps, rules), isEnd = isOver(heaps);
  const large = values.filter((value) => value >= 2).length, wins = isEnd ? [] : winningMoves(heaps, rules);
  const lowers = ({ heap, count }) => grundy(heaps[heap] - count, rules) < values[heap]; // it can be reversed else
  const isException = rules.misere && large <= 1 && !isEnd;
  return { values, sum, large, isEnd, isException, move: wins.find(lowers) ?? wins[0], isWon: wins.length > 0 };
}
