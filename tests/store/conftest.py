"""What tests of the store share with those through the front door (stored.py) lies there."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli"))
