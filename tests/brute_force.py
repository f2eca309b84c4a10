"""Plain recursive solutions of Nim, written from the rules as a person states them."""

from functools import cache


def moves(heaps, max_take):
    """Every ``(heap, count), heaps after`` of a tuple of heaps, heap by heap, count rising."""
    for heap, size in enumerate(heaps):
        for count in range(1, size + 1):
            if max_take is None or count <= max_take:
                yield (heap, count), (*heaps[:heap], size - count, *heaps[heap + 1 :])


@cache
def mover_wins(heaps, max_take, misere):
    """Whether the player to move can win, by trying every move; ``heaps`` is a sorted tuple."""
    if not any(heaps):
        return misere  # the other player has just taken the last object
    return any(not mover_wins(tuple(sorted(after)), max_take, misere) for _, after in moves(heaps, max_take))


def winners(rules):
    """Whether the player to move can win, a list over ``rules.all_positions()``."""
    positions = rules.all_positions().tolist()
    return [mover_wins(tuple(sorted(heaps)), rules.max_take, rules.misere) for heaps in positions]


@cache
def grundy(heaps, max_take):
    """The least number that is not the Grundy value of a successor; ``heaps`` is a sorted tuple."""
    reached = {grundy(tuple(sorted(after)), max_take) for _, after in moves(heaps, max_take)}
    return next(value for value in range(len(reached) + 1) if value not in reached)


@cache
def best_return(heaps, max_take, misere, gamma):
    """The discounted return of the player to move under perfect play, with rewards 1 and -1."""
    return max(
        (-1 if misere else 1)
        if not any(after)
        else -gamma * best_return(tuple(sorted(after)), max_take, misere, gamma)
        for _, after in moves(heaps, max_take)
    )


def win_probability(rules, heaps, players, to_move):
    """The probability that player 0 wins from ``heaps`` where player ``to_move`` moves.

    Each player is a function ``heaps -> {action: probability}``, or ``max`` or ``min``: the player who always
    chooses the best, or the worst, action for player 0. An illegal action loses, as does what is left of 1.
    """

    @cache
    def value(heaps, to_move):
        if not any(heaps):
            return float((to_move == 1) != rules.misere)  # player 0 made the last move if player 1 is to move
        values = {rules.action(*move): value(after, 1 - to_move) for move, after in moves(heaps, rules.max_take)}
        player = players[to_move]
        if player in (max, min):
            return player(values.values())
        legal = {action: float(p) for action, p in player(heaps).items() if action in values}
        lost = (1 - sum(legal.values())) * to_move
        return sum(probability * values[action] for action, probability in legal.items()) + lost

    return value(tuple(heaps), to_move)


def best_response_to_draw(rules, heaps, players, likelihoods, to_move):
    """The probability that a best response, player 0, wins against a player who was drawn unseen from ``players``.

    It goes through all lines of play, without a thought of who can win. ``likelihoods`` are the probabilities of
    each player and its moves so far; an illegal action loses, as does what is left of 1.
    """
    if not any(heaps):
        return sum(likelihoods) * ((to_move == 1) != rules.misere)
    lines = [(rules.action(*move), after) for move, after in moves(heaps, rules.max_take)]
    if to_move == 0:
        return max(best_response_to_draw(rules, after, players, likelihoods, 1) for _, after in lines)
    value = sum(likelihoods)
    for action, after in lines:
        rest = [part * player(heaps).get(action, 0.0) for part, player in zip(likelihoods, players, strict=True)]
        value += best_response_to_draw(rules, after, players, rest, 0) - sum(rest)
    return value
