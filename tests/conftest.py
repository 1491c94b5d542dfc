"""How hard the property tests try: `--hypothesis-profile=thorough` makes them try harder."""

from __future__ import annotations

from hypothesis import settings

# The speed of the machine is not what is tested.
settings.register_profile("quick", deadline=None)
settings.register_profile("thorough", deadline=None, max_examples=2_000)
settings.load_profile("quick")
