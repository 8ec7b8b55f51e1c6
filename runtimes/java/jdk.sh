# Prints the folder of the newest JDK among JAVA_HOME, the one on PATH, and those in /usr/lib/jvm; nothing if none.
on_path=$(command -v javac) && on_path=$(dirname "$(dirname "$(readlink -f "$on_path")")")
best=0
for home in "$JAVA_HOME" "$on_path" /usr/lib/jvm/*; do
    [ -n "$home" ] && [ -x "$home/bin/javac" ] || continue
    # "javac 21.0.4" or "javac 26-ea": the first number.
    version=$("$home/bin/javac" -version 2>&1 | sed -n 's/^javac \([0-9]*\).*/\1/p')
    if [ "${version:-0}" -gt "$best" ]; then
        best=$version
        newest=$home
    fi
done
[ "$best" -eq 0 ] || echo "$newest"
