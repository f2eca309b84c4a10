"""What limits sizes: the one home of these numbers, and of the error that names them.

=====================  ===========================================================================================
``ACTIONS``            of a game
``PAIRS``              of a heap and an action, so that an environment starts within a second
``INT64``              positions of a game with indices, and the size of a heap
``LISTED``             heap sizes of ``all_positions()``: 800 MB
``STATES``             positions of an environment, whose states are numbers of 64 bits
``OBSERVED_OBJECTS``   of the encodings with a number for each object: 40 MB an observation
``OBSERVED_INDEX``     positions of the encoding ``"index"``: no table has as many rows
``GAMES``              entries of the action masks of a vector environment: 4 GB
``TABULATED``          positions times actions of a board with tables; 1-3-5-7-9-11-13 has 31.6 million
``TABULATED_MOVES``    the same for tables that are no faster where they are larger
``TABULATED_NUMBERS``  positions times numbers of an observation, for a table of observations
``TRANSITIONS``        positions times actions of the dictionary ``env.unwrapped.P``: 100 MB
``JOINED``             replies of all members of a pool in one list: 200 MB
``KEPT_BYTES``         about, of what is kept for the states that single games visit
``PART``               positions times actions that are computed at once: about 12 MB; more is slower
``MATCH``              games times actions that are played at once; a seed gives other games with another number
``POLICY``             positions times actions of a policy in a table: 400 MB
``REPLIES``            positions times actions of a board whose replies are made at once for a single game
``SNAPSHOT``           the same of a snapshot in a pool, which else is a network
``MAPPED``             won positions of a picture
``SWEPT_POSITIONS``    of an exact sweep, which takes about a gigabyte
``BELIEFS``            times moves and actions, of a best response to a mixed strategy: seconds, a gigabyte
``SWEPT``              positions times actions of an exact sweep: minutes, with a slow policy hours
=====================  ===========================================================================================
"""

ACTIONS = 1_000_000
PAIRS = 100_000_000
INT64 = 2**63 - 1
LISTED = 100_000_000
STATES = 2**62
OBSERVED_OBJECTS = 10_000_000
OBSERVED_INDEX = 2**31
GAMES = 2**32
TABULATED = 2**25
TABULATED_MOVES = 2**20
TABULATED_NUMBERS = 2**22
TRANSITIONS = 100_000
JOINED = 2**22
KEPT_BYTES = 120_000_000
PART = 2**18
MATCH = 2**20
POLICY = 50_000_000
REPLIES = 2**14
SNAPSHOT = 2_000_000
MAPPED = 1_000
SWEPT_POSITIONS = 50_000_000
BELIEFS = 100_000_000
SWEPT = 10_000_000_000


def check_size(number: int, limit: int, what: str, remedy: str) -> None:
    """A ValueError where ``number`` of ``what`` is above ``limit``; it names them and the remedy."""
    if number > limit:
        text = f"{number:,}" if number < 10**18 else "more than 10^18"
        raise ValueError(f"{text} {what} are too many, up to {limit:,}; {remedy}")
