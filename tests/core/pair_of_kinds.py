# Run by test_fingerprint.py, which says what One and Partner are.
@wl.system
def meet(one: One, other: Partner):
    one.x += other.x
