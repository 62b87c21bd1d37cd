"""What labels are to every room: integers from 0, and one mark for what has none.

A label numbers a class. Arrays of labels hold `VOID` where nothing is known: such nodes carry no loss in training, and
such pixels are not counted in any figure.
"""

VOID = -1
