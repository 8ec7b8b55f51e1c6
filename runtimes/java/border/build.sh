# Compiles the calls between Java and C with the newest JDK. Without one, run.sh reports that it is missing.
set -e
sh jdk.sh > jdk
[ -s jdk ] || exit 0
home=$(cat jdk)
"$home/bin/javac" -Xlint:rawtypes,unchecked,static -Werror -d classes Meter.java Protocol.java Settings.java border/Border.java
# java.lang.foreign is complete since JDK 22; without this class its rows are skipped.
if "$home/bin/java" -XX:+UseSerialGC --list-modules | grep -qE '^java.base@(2[2-9]|[3-9][0-9])'; then
    "$home/bin/javac" -Xlint:rawtypes,unchecked,static -Werror -cp classes -d classes border/Panama.java
fi
gcc -O2 -fPIC -shared -Wall "-I$home/include" "-I$home/include/linux" border/border.c -o border.so -lpthread
