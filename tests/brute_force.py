"""Plain recursive solutions of Nim, written directly from the rules of the game and independent of nim_env."""

from functools import cache


def moves(heaps, max_take):
    """Yields each legal move ``(heap, count)`` and the heaps after it, ordered by heap and then by count."""
    for heap, size in enumerate(heaps):
        for count in range(1, size + 1):
            if max_take is None or count <= max_take:
                yield (heap, count), (*heaps[:heap], size - count, *heaps[heap + 1 :])


@cache
def mover_wins(heaps, max_take, misere):
    """Returns whether the player to move can win, found by trying every move. ``heaps`` is a sorted tuple."""
    if not any(heaps):
        return misere  # the other player has just taken the last object
    return any(not mover_wins(tuple(sorted(after)), max_take, misere) for _, after in moves(heaps, max_take))


def winners(rules):
    """Returns a list: for each of ``rules.all_positions()``, whether the player to move can win."""
    positions = rules.all_positions().tolist()
    return [mover_wins(tuple(sorted(heaps)), rules.max_take, rules.misere) for heaps in positions]


@cache
def grundy(heaps, max_take):
    """Returns the Grundy value: the least number that no successor has. ``heaps`` is a sorted tuple."""
    reached = {grundy(tuple(sorted(after)), max_take) for _, after in moves(heaps, max_take)}
    return next(value for value in range(len(reached) + 1) if value not in reached)


@cache
def best_return(heaps, max_take, misere, gamma):
    """Returns the discounted return of the player to move under perfect play, with rewards 1 and -1."""
    return max(
        (-1 if misere else 1)
        if not any(after)
        else -gamma * best_return(tuple(sorted(after)), max_take, misere, gamma)
        for _, after in moves(heaps, max_take)
    )


def win_probability(rules, heaps, players, to_move):
    """Returns the probability that player 0 wins from ``heaps`` if player ``to_move`` moves next.

    Each player is a function ``heaps -> {action: probability}``, or ``max`` or ``min``, which always choose the
    best or the worst action for player 0. An illegal action loses, and any probability missing from 1 counts as an
    illegal action.
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
    """Returns the probability that a best response wins against a player drawn from ``players``.

    The best response is player 0, and it does not know which player was drawn. The function tries all lines of
    play and uses no theory of who can win. ``likelihoods`` are the joint probabilities that a player was drawn and
    made its moves so far. An illegal action loses, and any probability missing from 1 counts as an illegal action.
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
