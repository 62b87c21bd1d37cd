"""Figures as inline SVG: bars, learning curves, heat maps."""
