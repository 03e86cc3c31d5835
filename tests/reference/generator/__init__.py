"""Reference cases by family; see generate.py."""
