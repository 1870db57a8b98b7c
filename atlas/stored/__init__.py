"""How weights lie in the files of a checkpoint: per tensor its scheme, bits, groups, packing, scales and types.

`units` lists what there is to store, one module per scheme family says how it is stored, `rule` puts the two
together, `held` folds the result into bytes, elements by type and bits per weight. Nothing here reads a file.
"""
