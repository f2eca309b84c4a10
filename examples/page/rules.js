// The rules of Nim and the theorem that solves it, as nim_env.rules and nim_env.theory.
// A board is {heaps, max, misere}: the starting sizes, the most blocks of one move, and whether the player who takes
// the last block loses. A position is an array of sizes, a move {heap, count}.

export const isOver = (heaps) => heaps.every((size) => size === 0);
export const after = (heaps, { heap, count }) => heaps.with(heap, heaps[heap] - count);
export const limit = (size, board) => Math.min(size, board.max);
export const isLimited = ({ heaps, max }) => max < Math.max(...heaps);
export const isSame = (one, other) => one.heap === other.heap && one.count === other.count;
export const nameOf = (heap) => String.fromCharCode(65 + heap);

export const legalMoves = (heaps, board) =>
  heaps.flatMap((size, heap) => Array.from({ length: limit(size, board) }, (_, i) => ({ heap, count: i + 1 })));

const grundy = (size, board) => size % (board.max + 1);

/** Whether the player to move wins under perfect play (Bouton 1901; misère: Winning Ways, chapter 13). */
export function isWinning(heaps, board) {
  const values = heaps.map((size) => grundy(size, board));
  const sum = values.reduce((xor, value) => xor ^ value, 0);
  return board.misere && values.every((value) => value < 2) ? sum === 0 : sum !== 0;
}

// The empty position is lost in normal play and won in misère play, so it needs no separate case.
export const winningMoves = (heaps, board) =>
  legalMoves(heaps, board).filter((move) => !isWinning(after(heaps, move), board));

export const movesOf = (number, heaps, board) =>
  heaps.flatMap((size, heap) => (size ? [{ heap, count: Math.min(number, limit(size, board)) }] : []));

/** A won position near a lost start, such as 1-3-5-4. Take-3 moves to it, so its learner knows it as well. */
export function wonNear(heaps, board) {
  if (isWinning(heaps, board)) return undefined;
  const near = movesOf(3, heaps, board).map((move) => after(heaps, move));
  const numbers = near.map((next) => winningMoves(next, board).length || Infinity);
  return near.findLast((next, i) => !isOver(next) && numbers[i] === Math.min(...numbers));
}

export function rate(heaps, move, board) {
  const wins = winningMoves(heaps, board);
  if (!wins.length) return "none";
  return wins.some((win) => isSame(win, move)) ? "wins" : "mistake";
}

/** The group that the n-th block from below is in: 7 = 4 + 2 + 1, the largest at the bottom.
 * With a limit, whole groups of limit + 1 lie below, which do not count. */
export function groupOf(n, left, board) {
  const whole = board.max + 1;
  const full = left - grundy(left, board);
  if (n < full) return { size: whole, isFirst: n % whole === 0, isWhole: true };
  let from = full;
  for (let size = 32; size >= 1; size /= 2) {
    if (!((left - full) & size)) continue;
    if (n < from + size) return { size, isFirst: n === from, isWhole: false };
    from += size;
  }
}

export function analyze(heaps, board) {
  const values = heaps.map((size) => grundy(size, board));
  const sum = values.reduce((xor, value) => xor ^ value, 0);
  const large = values.filter((value) => value >= 2).length;
  const wins = isOver(heaps) ? [] : winningMoves(heaps, board);
  const isException = board.misere && large <= 1 && !isOver(heaps);
  const lowers = ({ heap, count }) => grundy(heaps[heap] - count, board) < values[heap]; // other moves can be reversed
  const move = wins.find(lowers) ?? wins[0];
  return { values, sum, large, isException, move, isWon: wins.length > 0 };
}

/** Whether this heap has the group without a partner: of several, the one to take from, or the last one. */
export function isAlone(heap, size, { values, sum, move }) {
  const having = values.flatMap((value, each) => (value & size ? [each] : []));
  return Boolean(sum & size) && heap === (having.includes(move?.heap) ? move.heap : having.at(-1));
}
