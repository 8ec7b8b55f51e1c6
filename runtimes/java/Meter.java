import java.util.Arrays;

/** What each task tells that it has control. */
final class Meter {
    private final long[] resumes;  // of each task, which alone writes it
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

    /** From now on times each switch by itself, up to that many. */
    void time(int most) {
        singles = new long[most];
        timed = 0;
        timing = true;
        start = System.nanoTime();
    }

    /** The switches timed, in nanoseconds. */
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
