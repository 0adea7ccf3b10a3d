"""The parts of the miniature internet. `lab.py` is the interface; this package is how it is made."""
