set -e
sh jdk.sh > jdk
"$(cat jdk)/bin/javac" -Xlint:all -Werror -d classes ./*.java
