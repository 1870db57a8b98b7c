"""Parts: cached builders from plain numbers to weights, states and reads, one file per mechanism.

Touch a builder to change what a mechanism weighs, keeps or reads; nothing here knows a config or a family.
"""
