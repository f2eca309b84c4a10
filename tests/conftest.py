from hypothesis import settings

# nothing is timed in a test, and the same run finds the same examples everywhere
settings.register_profile("nim", deadline=None, derandomize=True, database=None)
settings.load_profile("nim")
