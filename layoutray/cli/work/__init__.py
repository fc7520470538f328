"""What verbs do once their options are parsed. Imports PyTorch, Ray and MLflow, for which `--help` shall not wait.

Each module belongs to the module of `layoutray.cli` with the same name, which has the options of the verb.
"""
