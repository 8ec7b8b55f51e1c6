import java.util.Arrays;

/** Counts and times the resumptions of each task. */
class Meter {
    private final long[] resumes;  // each task writes its own
    private boolean timing;
    private long start;
    private long[] singles = {};
    private int timed;

    Meter(int tasks) {
        resumes = new long[tasks];
    }

    void resumed(int task) {
        resumes[task]++;
        if (timing) stamp();
    }

    long sum() {
        return Arrays.stream(resumes).sum();
    }

    /** The switches or calls so far: a scheduler need not be fair. */
    long made() {
        return sum();
    }

    /** Texts that were copied on their way; negative if nobody counts them. */
    long copies() {
        return -1;
    }

    /** Other facts about the figure. */
    String note() {
        return "SerialGC; threads of the virtual machine share the CPU";
    }

    /** From now on, times single switches, up to so many. */
    void time(int most) {
        singles = new long[most];
        timed = 0;
        timing = true;
        start = System.nanoTime();
    }

    /** The times of the single switches, in nanoseconds. */
    long[] singles() {
        return Arrays.copyOf(singles, timed);
    }

    /** Ends one event and begins the next. */
    private void stamp() {
        long elapsed = System.nanoTime() - start;
        if (timed < singles.length) singles[timed++] = elapsed;
        start = System.nanoTime();
    }
}
