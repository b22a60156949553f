"""page-has-picture.py PAGE SVG: the page has this picture."""
import base64
import re
import sys

page, svg = open(sys.argv[1]).read(), open(sys.argv[2]).read()
pictures = [base64.b64decode(p).decode() for p in re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', page)]
sys.exit(svg not in pictures)
