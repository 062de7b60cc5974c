"""`kvlint fix`: rewrite the source, prove the rewritten source, then write it.

Sits on top of everything else: nothing outside this package and its command imports it, and
LibCST, which takes longer to import than most runs of the check last, is imported here only.
"""
