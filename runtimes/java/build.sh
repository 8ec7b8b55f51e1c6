# Compiles with the newest JDK. Without one, run.sh reports that it is missing.
set -e
sh jdk.sh > jdk
[ -s jdk ] || exit 0
"$(cat jdk)/bin/javac" -Xlint:all -Werror -d classes ./*.java
