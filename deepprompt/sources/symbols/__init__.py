"""The symbol map: the declarations of a repository's source files, without their bodies."""
