"""The check on a GPU, as check.py runs it.

stages.py   what is run: one row a stage, in order of worth
figures.py  which figures of a stage's run say whether a claim holds, and what is expected of a GPU
session.py  one call: commands run within their time, runs of perfkit begun and resumed
folder.py   what a call leaves: state of every stage, log, archive
report.py   what a person reads: stages, claims, figures, tables of every run; docs/gpu-status.md with the results filled in
"""
