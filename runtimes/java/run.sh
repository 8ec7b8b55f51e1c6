# One carrier for virtual threads, and a collector without threads of its own. Three quarters of the memory are for the
# heap; the rest is for the stacks of platform threads and the virtual machine itself.
if [ ! -s jdk ]; then
    printf 'tollgate-runtime 1\nskip there is no JDK: apt-get install default-jdk-headless\nend\n'
    exit 0
fi
for argument; do
    case $argument in memory=*) heap=-Xmx$((${argument#memory=} / 4194304 * 3))m ;; esac
done
# Calls between languages are so short that a measurement would end before the compiler, which has the same CPU.
[ -z "${MAIN:-}" ] || batch=-Xbatch
exec "$(cat jdk)/bin/java" ${heap:-} ${batch:-} -XX:+UseSerialGC -Djdk.virtualThreadScheduler.parallelism=1 \
    -Djdk.virtualThreadScheduler.maxPoolSize=1 --enable-native-access=ALL-UNNAMED -cp classes "${MAIN:-Tasks}" "$@"
