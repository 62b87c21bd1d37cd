"""The run folder: layout, file names, format, records, variants, lock. Knows neither torch nor scikit-learn."""
