"""A config asked key by key, with every answer's origin noted, and known wrong configs set right.

What a key means for a family stands in its row.
"""
