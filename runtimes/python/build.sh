# Compiles one C file into a module or library of the same name.
set -e
include=$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')
gcc -O2 -fPIC -shared -Wall -Wno-unused-function "-I$include" "$1.c" -o "$1.so"
