"""What a checkpoint of a derived structure should hold, and what others say of it: names, shapes, packings, totals.

Headers come in as plain data; nothing here opens a file.
"""
