"""It trains when it is imported."""

import q_dictionary

ai = q_dictionary.train(1000)
