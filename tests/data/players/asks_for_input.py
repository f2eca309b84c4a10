"""It asks for the number of games when it is imported."""

import q_dictionary

ai = q_dictionary.train(int(input("Games: ")))
