# One carrier for virtual threads, and a collector without threads of its own. Three quarters of the memory are for the
# heap; the rest is for the stacks of platform threads and the virtual machine itself.
if [ ! -s jdk ]; then
    printf 'tollgate-runtime 1\nskip there is no JDK: apt-get install default-jdk-headless\nend\n'
    exit 0
fi
for argument; do
    case $argument in memory=*) heap=-Xmx$((${argument#memory=} / 4194304 * 3))m ;; esac
done
program='-cp classes Tasks'
if [ -n "${BORDER:-}" ]; then
    # Calls between languages are so short that a measurement would end before the compiler, which has the same CPU.
    # New objects soon have the memory of old ones again, as in a program that has run for long: the first use of a page is a
    # page fault.
    program='-Xbatch -Xmn4m -jar border.jar'
    # Classes as border/build.sh has loaded them. Remarks on them must not be part of the transcript.
    [ ! -e border.jsa ] || program="-XX:SharedArchiveFile=border.jsa -Xlog:disable -Xlog:all=warning:stderr $program"
fi
exec "$(cat jdk)/bin/java" ${heap:-} -XX:+UseSerialGC -Djdk.virtualThreadScheduler.parallelism=1 \
    -Djdk.virtualThreadScheduler.maxPoolSize=1 ${ARCHIVE:-} $program "$@"
