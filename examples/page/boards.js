const board = (heaps, rest) => ({ heaps, max: Math.max(...heaps), misere: true, ...rest });

export const PRESETS = [
  board([1, 3, 5, 7], { name: "1-3-5-7", note: "the classic" }),
  board([3, 4, 5], { name: "3-4-5", note: "small and sharp" }),
  board([21], { name: "21", note: "take 1 to 3", max: 3, misere: false }),
  board([1, 3, 5, 7, 9], { name: "5 heaps", note: "1-3-5-7-9" }),
  board([3, 31, 12, 25, 7, 18, 29, 5, 22, 14, 27, 10], { name: "Big", note: "12 heaps of up to 31" }),
];

const UNEQUAL = "The heaps are still unequal.";
const SINGLE = "A group still has no partner.";
const COPY = "You win if you copy.";
const PAIR = "You win if you make pairs again.";

/** `wrong` says why a move gives the win away, and `plan` how you win when the other player is to move. */
export const LESSONS = [
  board([3, 3], {
    name: "Copy",
    misere: false,
    first: 1,
    wrong: UNEQUAL,
    plan: COPY,
    text: "Here the last block wins. Two equal heaps: copy each move in the other heap, and you take the last block.",
  }),
  board([2, 5], {
    name: "Make equal",
    misere: false,
    first: 0,
    wrong: UNEQUAL,
    plan: COPY,
    text: "Two unequal heaps. Make them equal. Then copy.",
  }),
  board([1, 2, 3], {
    name: "Pairs",
    misere: false,
    first: 1,
    wrong: SINGLE,
    plan: PAIR,
    hasGroups: true,
    text: "See 3 as 2 + 1. Then 1-2-3 has a pair of 2s and a pair of 1s. After each move, make pairs again.",
  }),
  board([3, 4, 5], {
    name: "Make pairs",
    misere: false,
    first: 0,
    wrong: SINGLE,
    plan: PAIR,
    hasGroups: true,
    text: "See 3 as 2 + 1, and 5 as 4 + 1. The 4s and the 1s have a partner, the 2 has none. Make pairs.",
  }),
  board([1, 1, 4], {
    name: "Last loses",
    first: 0,
    wrong: "Now the other player can leave an odd number of heaps of one.",
    plan: "You win if you leave an odd number of heaps of one.",
    text: "Now the last block loses. When all other heaps have one block, leave an odd number of heaps of one.",
  }),
  board([21], {
    name: "Multiples of 4",
    max: 3,
    misere: false,
    first: 0,
    wrong: "That does not leave a multiple of 4.",
    plan: "You win if you make it a multiple of 4 again.",
    text: "Here a move takes 1 to 3 blocks. Divide the heap by 4 and take the remainder, so you leave a multiple of 4.",
  }),
];

export const isSameBoard = (one, other) =>
  String(one.heaps) === String(other.heaps) && one.max === other.max && one.misere === other.misere;
