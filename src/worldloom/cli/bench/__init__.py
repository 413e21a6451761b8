"""`worldloom bench step|systems|start`, the engines it compares with, and its plot. Imports terminal, vector and core."""
