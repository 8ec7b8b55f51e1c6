# Compiles with the newest JDK; without one, leaves it to run.sh to say so.
set -e
sh jdk.sh > jdk
[ -s jdk ] || exit 0
"$(cat jdk)/bin/javac" -Xlint:all -Werror -d classes ./*.java
