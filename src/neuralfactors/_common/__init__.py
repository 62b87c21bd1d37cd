"""What every room uses: files that are written whole, labels and the mark of void, seeds, optional packages."""
