#!/bin/sh
# Gradescope runs this once, when it builds the image: the program must run there.
set -e
here=${AUTOGRADER:-/autograder}/source
chmod +x "$here/tollgate"
"$here/tollgate" --version || {
    echo "tollgate does not run here: build the archive with --program and a program for this system" >&2
    exit 1
}
