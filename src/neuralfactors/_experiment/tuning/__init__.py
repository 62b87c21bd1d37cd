"""Tuning: settings of a variant chosen on validation images."""
