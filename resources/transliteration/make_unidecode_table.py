#!/usr/bin/env python3
"""Writes unidecode.txt from the installed Python package Unidecode (pip install Unidecode==1.4.0).

A line is a block of 256 characters: its number in hexadecimal, then the replacements, each after a tab. Line and
paragraph separator (U+2028, U+2029), whose replacements are line breaks, are left empty.
Example: make_unidecode_table.py --out unidecode.txt
"""
import argparse
import importlib
from importlib.metadata import version

parser = argparse.ArgumentParser()
parser.add_argument("--out", required=True)
out = parser.parse_args().out
lines = [
    f"# ASCII replacements of Unicode characters, from the Python package Unidecode {version('Unidecode')}:",
    "# copyright (C) Tomaz Solc <tomaz.solc@tablix.org>; based on Text::Unidecode by Sean M. Burke <sburke@cpan.org>;",
    "# GNU General Public License, version 2 or later. Made by make_unidecode_table.py.",
]
for block in range(1 << 12):
    try:
        data = importlib.import_module(f"unidecode.x{block:03x}").data
    except ImportError:
        continue
    cells = ["" if cell is None or "\n" in cell else cell for cell in data]
    while cells and not cells[-1]:
        cells.pop()
    assert not any("\t" in cell for cell in cells)
    if cells:
        lines.append("\t".join([f"{block:x}", *cells]))
with open(out, "w", encoding="ascii", newline="\n") as file:
    file.write("\n".join(lines) + "\n")
