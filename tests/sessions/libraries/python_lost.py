"""Makes postings, some of which session_extension loses. usage: python_lost.py FOLDER-OF-THE-MODULE"""

import sys

sys.path.insert(0, sys.argv[1])

import session_extension

lost = 0
for number in range(100):
    try:
        session_extension.post(number)
    except ValueError:
        lost += 1
print("lost", lost, flush=True)
