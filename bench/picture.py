# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Bars beside each other in a picture (SVG) that needs nothing else. Used by print-storage and
print-budget.
"""
from xml.sax.saxutils import escape


class Picture:
    """Rows of bars from top to bottom; @left is where bars begin, @width what the longest has."""

    def __init__(self, title, left, width, right=90):
        self.left, self.width, self.right = left, width, right
        self.y = 32
        self.parts = []
        self.text(10, 20, title, size=14)

    def text(self, x, y, text, size=12, anchor='start', colour='black'):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" '
                          f'text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>')

    def rect(self, x, y, width, height, colour):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
                          f'height="{height:.1f}" fill="{colour}"/>')

    def line(self, x1, y1, x2, y2, colour='black', style=''):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
                          f'stroke="{colour}" {style}/>')

    def legend(self, entries, step=160):
        """What the colours mean: [(colour, name)]"""
        for i, (colour, name) in enumerate(entries):
            x = self.left + step * i
            self.rect(x, self.y, 11, 11, colour)
            self.text(x + 16, self.y + 10, name)
        self.y += 25

    def name(self, text, bars=1):
        """That of the row whose bars follow"""
        self.text(self.left - 8, self.y + 11 * bars / 2 + 4, text, anchor='end')

    def bar(self, low, value, high, scale, colour, text, height=11):
        """The next bar; from @low to @high runs differed. @scale: pixels of 1."""
        self.rect(self.left, self.y, value * scale, height - 1, colour)
        if low < high:
            middle = self.y + height / 2
            self.line(self.left + low * scale, middle, self.left + high * scale, middle)
        self.text(self.left + max(value, high) * scale + 6, self.y + height - 1, text, size=10)
        self.y += height

    def save(self, path, note):
        """@note: the line below everything"""
        self.text(10, self.y + 12, note, size=10)
        width, height = self.left + self.width + self.right, self.y + 20
        with open(path, 'w', encoding='utf-8') as f:
            f.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                    f'viewBox="0 0 {width} {height}" font-family="sans-serif">\n'
                    '<rect width="100%" height="100%" fill="white"/>\n' +
                    '\n'.join(self.parts) + '\n</svg>\n')
