"""The contract of the atlas: vocabulary, columns, table models and the data dictionary made from them."""
