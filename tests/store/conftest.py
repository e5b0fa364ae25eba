"""What tests of the store share with those through the front door (stored.py) lies there."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli"))
sys.path.append(str(pathlib.Path(__file__).parents[1]))
pytest_plugins = ["busy"]  # a test that raises busy.Late is repeated on a busy machine
