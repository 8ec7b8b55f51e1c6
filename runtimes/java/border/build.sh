# Compiles the calls between Java and C with the newest JDK. Without one, run.sh reports that it is missing.
set -e
sh jdk.sh > jdk
[ -s jdk ] || exit 0
home=$(cat jdk)
"$home/bin/javac" -Xlint:rawtypes,unchecked,static -Werror -d classes Meter.java Protocol.java Settings.java border/Border.java
# java.lang.foreign is complete since JDK 22; without this class its rows are skipped.
if "$home/bin/java" -XX:+UseSerialGC --list-modules | grep -qE '^java.base@(2[2-9]|[3-9][0-9])'; then
    "$home/bin/javac" -Xlint:rawtypes,unchecked,static -Werror -cp classes -d classes border/Panama.java
    runtime=panama
fi
gcc -O2 -fPIC -shared -Wall "-I$home/include" "-I$home/include/linux" border/border.c -o border.so -lpthread
# Only a jar can permit native access without an option, with which a virtual machine would not use archived modules, and
# only a jar can have an archive: classes as they are after a run, which each process maps instead of loading them again. A
# virtual machine that cannot make one starts without.
echo 'Enable-Native-Access: ALL-UNNAMED' > manifest
"$home/bin/jar" --create --no-compress --file border.jar --main-class Border --manifest manifest -C classes .
BORDER=1 ARCHIVE=-XX:ArchiveClassesAtExit=border.jsa sh run.sh runtime="${runtime:-jni}" tasks=1 \
    mechanism=down,down-8,down-text,up,up-8,up-text,back batches=1 batch=1 warm_max_ms=1 > /dev/null 2>&1 || rm -f border.jsa
