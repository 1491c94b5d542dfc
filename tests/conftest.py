"""How hard the property tests try: `--hypothesis-profile=thorough` makes them try harder.

The source tree's run tries hard enough for all; the wheels' tell whether a wheel works: `light`.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

# The suites to inherit are not tests by name, but their assertions should explain themselves too.
pytest.register_assert_rewrite("tests.contract")

# The speed of the machine is not what is tested.
settings.register_profile("quick", deadline=None)
settings.register_profile("light", deadline=None, max_examples=20)
settings.register_profile("thorough", deadline=None, max_examples=2_000)
settings.load_profile("quick")

pytest_plugins = ["honcho_memory.testing.fixtures", "pytester"]
