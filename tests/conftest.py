from hypothesis import settings

# tests have no deadlines, and every run tries the same examples on every machine
settings.register_profile("nim", deadline=None, derandomize=True, database=None)
settings.load_profile("nim")
