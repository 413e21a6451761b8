"""Memory and execution: tables, columns, scratch memory, recorded graphs. It imports codegen and what is below."""
