from typing import List


def longest_run(values: List[int]) -> int:
    """Give the length of the longest run of equal neighbours in a list, 0 for an empty one.

    >>> longest_run([])
    0
    >>> longest_run([3])
    1
    >>> longest_run([1, 1, 2, 2, 2, 1])
    3
    """
