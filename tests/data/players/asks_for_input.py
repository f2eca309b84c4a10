"""It trains and then wants to play, with nobody at the keyboard."""

import q_dictionary


def play(ai):
    while True:
        print(ai.choose_action((2, 3, 4), epsilon=False))
        input("Your move: ")


play(q_dictionary.train(100))
