# Links to the interpreter itself: `python3` on PATH may be a script that searches for one at each start.
set -e
ln -s "$(python3 -c 'import sys; print(sys.executable)')" python
